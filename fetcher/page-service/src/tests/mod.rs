//! Real stores behind real gRPC on loopback.

mod cluster;
mod faults;
mod one_store;
mod proxy;
mod reading;
mod refusals;
mod support;
