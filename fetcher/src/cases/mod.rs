//! Field cases as tests: whole cycles against raw servers on loopback.

mod bodies;
mod cluster;
mod errands;
mod hostile;
mod names;
mod pages;
mod pool;
mod redirects;
mod robots;
mod tls;
