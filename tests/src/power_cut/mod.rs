//! Power cuts: a preloaded library journals what was promised to be on disk, and the directory is put back to that.
//!
//! SIGKILL alone proves little, since the kernel keeps what was written. Here a process is stopped before one of its
//! system calls, then every byte not synced and every name whose directory was not synced is taken away.

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod cases;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod cluster;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod cluster_cases;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod crawl;
mod cut;
mod journal;
mod library;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

pub use cut::{CutReport, Mercy, cut};
pub use journal::Journal;
pub use library::Library;
