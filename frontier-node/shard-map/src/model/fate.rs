//! What a node should do with a replica that it has: keep it, wait for a newer map, or destroy it.
//!
//! The answer to an orphan's question. A replica that was removed while its node was down learns here that it is dead; one
//! that the asked map does not know yet is left alone.

use super::{
    job::Plan,
    replica_id::ReplicaId,
    shard_map::{GROUP_ZERO, ShardMap},
};

/// What becomes of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The map, or a split that is under way, names it.
    Belongs,
    /// This map is too old to know it.
    NotYetKnown,
    /// It was removed, or its making was undone: it never takes part again.
    Retired,
}

impl ShardMap {
    /// What becomes of a replica of a group.
    #[must_use]
    pub fn fate(&self, group: u64, replica: ReplicaId) -> Fate {
        if !self.is_founded() || group >= self.next_shard {
            return Fate::NotYetKnown;
        }
        let Some(members) = self.members(group) else {
            return self.fate_of_unborn(group, replica);
        };
        match members.newest_issued(replica.node()) {
            _ if members.has(replica) => Fate::Belongs,
            Some(newest) if replica <= newest => Fate::Retired,
            _ => Fate::NotYetKnown,
        }
    }

    /// The group has a number and is not in the map: its split is under way, or was undone.
    fn fate_of_unborn(&self, group: u64, replica: ReplicaId) -> Fate {
        debug_assert_ne!(group, GROUP_ZERO);
        let is_named = self.running_jobs().any(|job| match &job.plan {
            Some(Plan::Split(split)) => split.child == group && split.voters.contains(&replica.0),
            _ => false,
        });
        if is_named {
            Fate::Belongs
        } else {
            Fate::Retired
        }
    }
}
