//! `wish_leader`: which node should lead a group.

use super::checks;
use crate::{model::ShardMap, refusal::Refusal};

/// The leader of a group hands over to that node, and balance leaves the group alone. The wish stays until another one,
/// or until the node has no replica any more.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct WishLeader {
    /// The shard; 0: the cluster's own group.
    #[prost(uint64, tag = "1")]
    pub shard: u64,
    /// The node; 0: no wish.
    #[prost(uint32, tag = "2")]
    pub node: u32,
}

impl WishLeader {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        let members = next.members(self.shard);
        let members = members.ok_or(Refusal::UnknownShard(self.shard))?;
        if self.node != 0 {
            checks::usable_node(next, self.node)?;
            members.voter_on(self.node).ok_or(Refusal::HasNoVoter {
                shard: self.shard,
                node: self.node,
            })?;
        }
        if let Some(members) = next.members_mut(self.shard) {
            members.wished_leader = self.node;
        }
        Ok(None)
    }
}
