//! `move_replica`: a job that gives a replica of one node to another, or to the new disk of its own.

use super::{checks, jobs};
use crate::{
    model::{Members, MovePlan, Node, Plan, ReplicaId, Role, ShardMap},
    refusal::Refusal,
};

/// A replica of a group goes from one node to another. The new one votes before the old one stops.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct MoveReplica {
    /// The shard; 0: the cluster's own group.
    #[prost(uint64, tag = "1")]
    pub shard: u64,
    /// Its epoch, as the caller saw it.
    #[prost(uint64, tag = "2")]
    pub epoch: u64,
    /// The node that gives its replica away; 0: none, the group grows to the cluster's number of voters.
    #[prost(uint32, tag = "3")]
    pub from: u32,
    /// The node that gets one. The same as `from` when that lost its disk.
    #[prost(uint32, tag = "4")]
    pub to: u32,
    /// Placement keeps the result: what a person chose is not undone by the ring.
    #[prost(bool, tag = "5")]
    pub pin: bool,
    /// The new replica's id, where the node has made one; 0: the map's choice.
    #[prost(uint64, tag = "6")]
    pub replica: u64,
}

impl MoveReplica {
    pub(super) fn apply(&self, next: &mut ShardMap, request: u64) -> Result<Option<u64>, Refusal> {
        let members = checks::free_group(next, self.shard, self.epoch)?;
        let target = if self.from == self.to {
            checks::present_node(next, self.to)?
        } else {
            checks::usable_node(next, self.to)?
        };
        let old = self.old(next, members)?;
        self.check_free(members, target, old)?;
        let new = self.new_id(members, target)?;
        let plan = MovePlan {
            shard: self.shard,
            old: old.map_or(0, |id| id.0),
            new: new.0,
            pin: self.pin,
        };
        let job = jobs::begin(next, request, Plan::Move(plan))?;
        if let Some(members) = next.members_mut(self.shard) {
            members.add(new, Role::Learner);
            members.epoch += 1;
        }
        Ok(Some(job))
    }

    /// The replica that goes.
    fn old(&self, next: &ShardMap, members: &Members) -> Result<Option<ReplicaId>, Refusal> {
        if self.from != 0 {
            next.node(self.from)
                .ok_or(Refusal::UnknownNode(self.from))?;
            let voter = members.voter_on(self.from);
            return voter.map(Some).ok_or(Refusal::HasNoVoter {
                shard: self.shard,
                node: self.from,
            });
        }
        let voters = members.voters().count() as u64;
        if voters >= u64::from(next.replica_target) {
            return Err(Refusal::EnoughVoters {
                shard: self.shard,
                voters,
            });
        }
        Ok(None)
    }

    /// The target must not have the shard, unless on a disk that it lost.
    fn check_free(
        &self,
        members: &Members,
        target: &Node,
        old: Option<ReplicaId>,
    ) -> Result<(), Refusal> {
        let is_lost = |id: ReplicaId| id.incarnation() < target.incarnation;
        let gives_way = self.from == self.to && old.is_some_and(is_lost);
        if members.is_on(self.to) && !gives_way {
            return Err(Refusal::HasReplica {
                shard: self.shard,
                node: self.to,
            });
        }
        Ok(())
    }

    fn new_id(&self, members: &Members, target: &Node) -> Result<ReplicaId, Refusal> {
        if self.replica == 0 {
            let id = members.next_id(target.number, target.incarnation);
            return id.ok_or(Refusal::ReplicaIdsUsedUp {
                shard: self.shard,
                node: target.number,
            });
        }
        let given = ReplicaId(self.replica);
        if (given.node(), given.incarnation()) != (target.number, target.incarnation) {
            return Err(Refusal::Invalid(
                "the replica id is not of the target's disk",
            ));
        }
        if members.newest_issued(target.number) >= Some(given) {
            return Err(Refusal::ReplicaReused {
                shard: self.shard,
                replica: self.replica,
            });
        }
        Ok(given)
    }
}
