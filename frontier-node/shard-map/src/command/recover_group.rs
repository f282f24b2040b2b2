//! `recover_group`: a group that lost its quorum for good goes on with one voter.

use crate::{
    model::{NodeState, Plan, ReplicaId, Role, ShardMap, Step},
    refusal::Refusal,
};

/// The map follows what an unsafe recovery made of a group: one voter under a new id, which it went on with by itself. All others are
/// tombstones from now on. A move of the group that was under way is undone. Sent again it changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct RecoverGroup {
    /// The group; 0: the cluster's own.
    #[prost(uint64, tag = "1")]
    pub group: u64,
    /// Its voter.
    #[prost(uint64, tag = "2")]
    pub replica: u64,
}

impl RecoverGroup {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        let id = ReplicaId(self.replica);
        let node = next
            .node(id.node())
            .ok_or(Refusal::UnknownNode(id.node()))?;
        if node.state() == NodeState::Gone || node.incarnation != id.incarnation() {
            return Err(Refusal::Invalid("the replica is not on a disk of its node"));
        }
        let version = next.version;
        let members = next.members_mut(self.group);
        let members = members.ok_or(Refusal::UnknownShard(self.group))?;
        if members.has(id) && members.replicas.len() == 1 {
            return Ok(None);
        }
        if members.newest_issued(id.node()) >= Some(id) {
            return Err(Refusal::Invalid("the replica's id was issued before"));
        }
        let lost: Vec<ReplicaId> = members.replicas.iter().map(|r| r.replica_id()).collect();
        lost.into_iter().for_each(|lost| members.retire(lost));
        members.add(id, Role::Voter);
        members.epoch += 1;
        let moved = next.job_of_shard(self.group);
        let moved = moved.filter(|job| matches!(job.plan, Some(Plan::Move(_))));
        let moved = moved.map(|job| job.id);
        if let Some(job) = moved.and_then(|job| next.job_mut(job)) {
            job.end(Step::Undone, version);
        }
        Ok(moved)
    }
}
