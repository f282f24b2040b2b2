//! Who a message is from and for.

use proto::raft_v1 as pb;
use raftlog::NodeId;
use tonic::Status;

/// One end of all messages: a process of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) cluster_id: u64,
    pub(crate) me: NodeId,
}

impl Identity {
    /// The envelope of a message from here.
    pub(crate) const fn to(self, target: NodeId) -> pb::Envelope {
        pb::Envelope {
            cluster_id: self.cluster_id,
            sender: self.me,
            target,
        }
    }

    /// The sender of a message that is meant for this process of this cluster.
    pub(crate) fn check(self, envelope: Option<pb::Envelope>) -> Result<NodeId, Status> {
        let envelope =
            envelope.ok_or_else(|| Status::invalid_argument("the message has no envelope"))?;
        if envelope.cluster_id != self.cluster_id {
            return Err(Status::failed_precondition(format!(
                "the message is for cluster {:016x}, this is {:016x}",
                envelope.cluster_id, self.cluster_id
            )));
        }
        if envelope.target != self.me {
            return Err(Status::failed_precondition(format!(
                "the message is for replica {}, this is {}",
                envelope.target, self.me
            )));
        }
        Ok(envelope.sender)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tonic::Code;

    use super::*;

    #[test]
    fn only_what_is_for_this_replica_of_this_cluster_passes() {
        let here = Identity {
            cluster_id: 9,
            me: 2,
        };
        let there = |cluster_id, me| Identity { cluster_id, me };
        assert_eq!(here.check(Some(there(9, 1).to(2))).unwrap(), 1);
        for foreign in [there(8, 1).to(2), there(9, 1).to((1 << 32) + 2)] {
            let refused = here.check(Some(foreign)).unwrap_err();
            assert_eq!(refused.code(), Code::FailedPrecondition);
        }
        assert_eq!(here.check(None).unwrap_err().code(), Code::InvalidArgument);
    }
}
