//! `replace`: a dead node is emptied and given up.

use super::drain;
use crate::{
    model::{Evacuation, Plan, ShardMap},
    refusal::Refusal,
};

/// As `drain`, but nothing is expected of the node, and at the end it is gone: under its present incarnation it never
/// comes back.
///
/// Who waits how long before a node counts as dead is no matter of the map, which has no clock. A node that comes back
/// before the end may be undrained.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Replace {
    /// The dead node.
    #[prost(uint32, tag = "1")]
    pub node: u32,
}

impl Replace {
    pub(super) fn apply(&self, next: &mut ShardMap, request: u64) -> Result<Option<u64>, Refusal> {
        let plan = Plan::Replace(Evacuation { node: self.node });
        drain::empty(next, self.node, request, plan)
    }
}
