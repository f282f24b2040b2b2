//! Tests over loopback sockets: whole engines, and senders against stand-ins of receivers.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod appends;
mod connections;
mod duplicates;
mod engines;
mod heartbeats;
mod links;
mod processes;
mod proxy;
mod refusals;
mod snapshots;
mod stand_in;
mod support;
mod three_nodes;
