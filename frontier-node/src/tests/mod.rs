//! Whole nodes in temporary directories, through `client::Frontier`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod contract;
mod disk;
mod known;
mod places;
mod polls;
mod restart;
mod servers;
mod splits;
mod support;
