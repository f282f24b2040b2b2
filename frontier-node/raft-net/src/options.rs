//! Options of a node's transport.

use std::time::Duration;

use raftlog::NodeId;

/// Options of a [`NetTransport`](crate::NetTransport).
#[derive(Debug, Clone)]
pub struct NetOptions {
    /// This replica.
    pub me: NodeId,
    /// The cluster; messages of another are refused.
    pub cluster_id: u64,
    /// Longest wait for a TCP connection, in milliseconds.
    pub connect_timeout_ms: u64,
    /// How long a heartbeat waits for others to travel with, in milliseconds.
    pub heartbeat_window_ms: u64,
    /// Pause between two pings of a link, in milliseconds.
    pub ping_interval_ms: u64,
    /// Connections a peer for calls and appends; groups are spread over them by their id.
    pub append_lanes: usize,
}

impl NetOptions {
    /// Options with all defaults.
    #[must_use]
    pub const fn new(me: NodeId, cluster_id: u64) -> Self {
        Self {
            me,
            cluster_id,
            connect_timeout_ms: 300,
            heartbeat_window_ms: 40,
            ping_interval_ms: 500,
            append_lanes: 2,
        }
    }

    pub(crate) const fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.connect_timeout_ms)
    }

    pub(crate) const fn heartbeat_window(&self) -> Duration {
        Duration::from_millis(self.heartbeat_window_ms)
    }

    /// Never zero, which no timer takes.
    pub(crate) fn ping_interval(&self) -> Duration {
        Duration::from_millis(self.ping_interval_ms.max(1))
    }
}
