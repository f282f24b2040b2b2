//! `drain`: a node that lives is emptied; `undrain`: it is not.

use super::{checks, jobs};
use crate::{
    model::{Evacuation, NodeState, Plan, ShardMap, Step},
    refusal::Refusal,
};

/// All replicas of a node are moved away, leaders first; it gets no new ones. At the end the node is empty and stays
/// draining, until it leaves or is undrained. The moves are jobs of their own, proposed by `placement::evacuation`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Drain {
    /// The node.
    #[prost(uint32, tag = "1")]
    pub node: u32,
}

/// The node may be given replicas again. Moves that are under way go on; an emptying that is not at its end is undone.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Undrain {
    /// The node.
    #[prost(uint32, tag = "1")]
    pub node: u32,
}

impl Drain {
    pub(super) fn apply(&self, next: &mut ShardMap, request: u64) -> Result<Option<u64>, Refusal> {
        empty(
            next,
            self.node,
            request,
            Plan::Drain(Evacuation { node: self.node }),
        )
    }
}

/// Begins to empty a node.
pub(super) fn empty(
    next: &mut ShardMap,
    number: u32,
    request: u64,
    plan: Plan,
) -> Result<Option<u64>, Refusal> {
    checks::present_node(next, number)?;
    if let Some(job) = next.job_of_node(number) {
        return Err(Refusal::NodeBusy {
            node: number,
            job: job.id,
        });
    }
    checks::can_do_without(next, number)?;
    if let Some(node) = next.node_mut(number) {
        node.set_state(NodeState::Draining);
    }
    jobs::begin(next, request, plan).map(Some)
}

impl Undrain {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        checks::present_node(next, self.node)?;
        Ok(call_off(next, self.node, "undrained"))
    }
}

/// Gives a node its place back. The job that emptied it.
pub(super) fn call_off(next: &mut ShardMap, number: u32, reason: &str) -> Option<u64> {
    if let Some(node) = next.node_mut(number) {
        node.set_state(NodeState::Up);
    }
    let version = next.version;
    let id = next.job_of_node(number).map(|job| job.id)?;
    let job = next.job_mut(id)?;
    job.end(Step::Undone, version);
    job.reason = checks::cut(reason);
    Some(id)
}
