//! Tests of the whole.
//!
//! | folder or file | what |
//! |---|---|
//! | `sim` | a whole cluster under virtual time: lost messages, crashes, wrong clocks |
//! | `power_cut` | real processes stopped before a system call, what was never synced taken away |
//! | `cluster`, `crawl` | real processes of a cluster; the one-process crawl |
//! | `dependency_directions`, `grouped_rocksdb` | rules: who may depend on whom, how RocksDB is built |
//! | `program` | the programs under test |
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
