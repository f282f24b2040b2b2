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
    /// Least time allowed to set up an append stream and to answer an append, in milliseconds. Raft's own limit is part
    /// of a heartbeat, in which a large entry neither crosses a slow network nor reaches a busy disk.
    pub append_patience_ms: u64,
}

impl NetOptions {
    /// Options with all defaults.
    #[must_use]
    pub const fn new(me: NodeId, cluster_id: u64) -> Self {
        Self {
            me,
            cluster_id,
            connect_timeout_ms: 300,
            heartbeat_window_ms: 10,
            ping_interval_ms: 500,
            append_lanes: 2,
            append_patience_ms: 5_000,
        }
    }

    pub(crate) const fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.connect_timeout_ms)
    }

    pub(crate) const fn heartbeat_window(&self) -> Duration {
        Duration::from_millis(self.heartbeat_window_ms)
    }

    pub(crate) const fn append_patience(&self) -> Duration {
        Duration::from_millis(self.append_patience_ms)
    }

    /// Never zero, which no timer takes.
    pub(crate) fn ping_interval(&self) -> Duration {
        Duration::from_millis(self.ping_interval_ms.max(1))
    }
}
