//! Field cases as tests: whole cycles against raw servers on loopback.

mod bodies;
mod hostile;
mod names;
mod pages;
mod pool;
mod robots;
mod tls;
