//! `leave`: an empty node goes.

use super::checks;
use crate::{
    apply::set_gone,
    model::{NodeState, ShardMap, Step},
    refusal::Refusal,
};

/// A node takes part no more. It must be empty: drain it first. Sent again it changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Leave {
    /// The node.
    #[prost(uint32, tag = "1")]
    pub node: u32,
}

impl Leave {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        let number = self.node;
        let node = next.node(number).ok_or(Refusal::UnknownNode(number))?;
        if node.state() == NodeState::Gone {
            return Ok(None);
        }
        if next.present_nodes().count() == 1 {
            return Err(Refusal::LastNode(number));
        }
        let replicas = next.replicas_on(number);
        if replicas > 0 {
            return Err(Refusal::NodeNotEmpty {
                node: number,
                replicas,
            });
        }
        if let Some(job) = next.move_of_node(number) {
            return Err(Refusal::NodeBusy {
                node: number,
                job: job.id,
            });
        }
        if next.node(number).is_some_and(crate::model::Node::is_usable) {
            checks::can_do_without(next, number)?;
        }
        let job = next.job_of_node(number).map(|job| job.id);
        let version = next.version;
        if let Some(job) = job.and_then(|id| next.job_mut(id)) {
            job.end(Step::Done, version);
        }
        set_gone(next, number);
        Ok(job)
    }
}
