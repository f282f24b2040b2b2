//! Groups that entries of this one found: whether this replica is one of theirs, and what of them goes into the batch.

use openraft::EntryPayload;
use rocksdb::WriteBatch;

use super::applied::AppliedState;
use super::instance::{ApplyError, Instance};
use super::owned::owned_row;
use crate::errors::StateError;
use crate::ids::{GroupId, comes_after};
use crate::machine::{Founded, MachineError};
use crate::raft_types::{Entry, Membership};
use crate::state::user_bounds;

/// A group that an entry founds.
pub(super) struct Founding<'a> {
    child: &'a Founded,
    /// Its members; none where it is not founded here and its rows go.
    members: Option<Membership>,
}

impl Founding<'_> {
    /// How far the group is, beside its rows; its rows go where it is not founded here.
    pub(super) fn write(&self, batch: &mut WriteBatch) {
        if let Some(members) = &self.members {
            AppliedState::founded(members.clone()).write(self.child.group_id, batch);
            let (key, value) = owned_row(self.child.group_id, &self.child.ranges);
            batch.put(key, value);
            return;
        }
        for range in self.child.ranges.iter().filter(|range| !range.is_empty()) {
            let (start, end) = user_bounds(range);
            batch.delete_range(start, end);
        }
    }
}

impl Instance {
    /// The groups that the entries found. The members of each are those of this group at that entry.
    pub(super) fn foundings<'a>(
        &self,
        founded: &'a [Founded],
        entries: &[Entry],
        before: &AppliedState,
    ) -> Result<Vec<Founding<'a>>, ApplyError> {
        let mut foundings = Vec::with_capacity(founded.len());
        for child in founded {
            let until = entries
                .iter()
                .take_while(|entry| entry.log_id.index <= child.index);
            let newest = until.filter_map(|entry| match &entry.payload {
                EntryPayload::Membership(membership) => Some(membership.clone()),
                EntryPayload::Blank | EntryPayload::Normal(_) => None,
            });
            let members = newest.last();
            let members = members.unwrap_or_else(|| before.membership.membership().clone());
            let is_member = members.nodes().any(|(member, _)| *member == self.replica);
            let is_founded = self.may_found(child.group_id)? && is_member;
            let members = is_founded.then_some(members);
            foundings.push(Founding { child, members });
        }
        Ok(foundings)
    }

    /// Whether a group can be founded here as the replica that this one is. It cannot where one that joined waits to be fed
    /// with more than the founding entry has, nor where this one's was removed already.
    fn may_found(&self, group_id: GroupId) -> Result<bool, ApplyError> {
        let storage = |reason| ApplyError::State(StateError::Db(reason));
        let exists = || MachineError::new(format!("group {group_id} exists already"));
        if group_id == self.group_id {
            return Err(exists().into());
        }
        match self.shared.read_descriptor(group_id).map_err(storage)? {
            None => Ok(true),
            Some(known) if known.removed => Ok(comes_after(self.replica, known.replica)),
            // Its rows would be overwritten with what they were when it was founded.
            Some(_) if self.shared.has_rows(group_id).map_err(storage)? => Err(exists().into()),
            Some(_) => Ok(false),
        }
    }
}
