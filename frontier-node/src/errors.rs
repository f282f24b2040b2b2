//! Errors of the log as callers of a frontier see them.

use std::sync::Arc;

use client::CallError;
use client::limits::RETRY_PAUSE_MS;
use raftlog::{NodeId, ProposeError, ReadError, StateError, StopReason};

use crate::cluster::AddressBook;
use crate::limits::OVERLOAD_RETRY_MS;
use crate::state::CellError;

/// Hints about leaders: their addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    book: Arc<AddressBook>,
}

impl Hints {
    pub(crate) const fn new(book: Arc<AddressBook>) -> Self {
        Self { book }
    }

    /// Where a replica is; empty when unknown.
    pub(crate) fn address(&self, replica: Option<NodeId>) -> String {
        replica
            .and_then(|replica| self.book.address_of(replica))
            .unwrap_or_default()
    }

    pub(crate) fn not_leader(&self, leader: Option<NodeId>) -> CallError {
        CallError::NotLeader {
            leader_address: self.address(leader),
        }
    }

    pub(crate) fn propose_error(&self, error: &ProposeError) -> CallError {
        match error {
            ProposeError::NotLeader { hint } => self.not_leader(*hint),
            ProposeError::Overloaded => overloaded("outstanding_proposals", 0, 0),
            ProposeError::TooLarge { size_bytes } => CallError::OverLimit {
                limit: "entry_size_bytes".to_owned(),
                value: *size_bytes as u64,
                max: raftlog::limits::MAX_PAYLOAD_BYTES as u64,
                retry_after_ms: 0,
            },
            ProposeError::Stopped(reason) => stopped(reason),
            ProposeError::OutcomeUnknown(_) | ProposeError::DiskFull(_) => {
                unavailable(error.to_string())
            }
        }
    }

    pub(crate) fn read_error(&self, error: &ReadError) -> CallError {
        match error {
            ReadError::NotLeader { hint } => self.not_leader(*hint),
            ReadError::Overloaded => overloaded(
                "waiting_reads",
                0,
                raftlog::limits::MAX_WAITING_READS as u64,
            ),
            ReadError::Stopped(reason) => stopped(reason),
            ReadError::NoQuorum | ReadError::TimedOut => unavailable(error.to_string()),
        }
    }
}

fn stopped(reason: &StopReason) -> CallError {
    unavailable(reason.to_string())
}

pub(crate) fn unavailable(reason: impl Into<String>) -> CallError {
    CallError::Unavailable {
        reason: reason.into(),
        retry_after_ms: RETRY_PAUSE_MS.0,
    }
}

/// A split has made this shard, and its replica here is being opened.
pub(crate) fn opening(shard: u64) -> CallError {
    unavailable(format!("shard {shard} is being opened here"))
}

/// Too much of something at this moment.
pub(crate) fn overloaded(limit: &str, value: u64, max: u64) -> CallError {
    CallError::OverLimit {
        limit: limit.to_owned(),
        value,
        max,
        retry_after_ms: OVERLOAD_RETRY_MS,
    }
}

pub(crate) fn state_error(error: &StateError) -> CallError {
    unavailable(error.to_string())
}

pub(crate) fn cell_error(error: CellError) -> CallError {
    unavailable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::NodeEntry;

    #[test]
    fn a_leader_hint_becomes_an_address() {
        let entry = NodeEntry {
            node: 2,
            incarnation: 0,
            address: "127.0.0.2:9".to_owned(),
            has_store: false,
        };
        let hints = Hints::new(Arc::new(AddressBook::in_memory([entry])));
        let address = |hint| match hints.propose_error(&ProposeError::NotLeader { hint }) {
            CallError::NotLeader { leader_address } => leader_address,
            other => other.to_string(),
        };
        assert_eq!(
            (address(Some(2)), address(Some(3)), address(None)),
            ("127.0.0.2:9".into(), String::new(), String::new())
        );
    }

    #[test]
    fn a_full_disk_is_unavailable_by_name() {
        let error = Hints::default().propose_error(&ProposeError::DiskFull("9 bytes free".into()));
        assert!(
            matches!(&error, CallError::Unavailable { reason, .. } if reason.contains("disk full")),
            "{error}"
        );
    }
}
