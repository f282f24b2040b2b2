//! Tests of the whole: who may depend on whom, drills on real processes, power cuts.
//!
//! Everything here is one test binary, for each integration binary would link RocksDB again.

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod cluster;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod crawl;
#[cfg(test)]
mod dependency_directions;
#[cfg(test)]
mod grouped_rocksdb;
#[cfg(test)]
mod power_cut;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod program;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod sim;
