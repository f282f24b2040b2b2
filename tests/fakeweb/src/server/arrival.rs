//! One request as the server saw it arrive.

use serde::{Deserialize, Serialize};

/// One line of the arrival log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// When the request's first byte was read, in nanoseconds of `CLOCK_MONOTONIC`: comparable among all
    /// processes of a machine since its start.
    pub t_ns: u64,
    /// Host asked for: lower case, without port and trailing dot.
    pub host: String,
    /// Path and query as they were sent.
    pub path: String,
    /// Status of the answer.
    pub status: u16,
    /// Number of the connection, from 1, within one run of the server.
    pub conn: u64,
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
