//! How far a group's rows are: the applied log id and the membership at it, in the same database as the rows.

use prost::Message;
use rocksdb::WriteBatch;

use crate::errors::StateError;
use crate::ids::GroupId;
use crate::raft_types::{LogId, Membership, SnapshotMeta, StoredMembership, log_id};
use crate::state::{MetaField, StateView, meta_key};
use crate::wire::{LogIdMsg, StoredMembershipMsg, decode};

/// The applied log id and the membership at it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AppliedState {
    pub(crate) log_id: Option<LogId>,
    pub(crate) membership: StoredMembership,
}

/// The log id of the first membership. The same on all founders, and the log begins behind it: what came before, the
/// first rows, is in no log, so a replica that joins can only begin with a snapshot.
pub(crate) fn founding_log_id() -> LogId {
    log_id(0, 0)
}

impl AppliedState {
    /// What a founder of a group with these members starts with.
    pub(crate) fn founded(members: Membership) -> Self {
        let log_id = Some(founding_log_id());
        Self {
            log_id,
            membership: StoredMembership::new(log_id, members),
        }
    }

    /// Index of the applied entry, 0 for none.
    pub(crate) fn index(&self) -> u64 {
        crate::raft_types::index_of(&self.log_id)
    }

    /// As openraft describes a snapshot.
    pub(crate) fn meta(&self) -> SnapshotMeta {
        SnapshotMeta {
            last_log_id: self.log_id,
            last_membership: self.membership.clone(),
        }
    }

    /// The group's own rows that say this, in ascending order of keys.
    pub(crate) fn rows(&self, group_id: GroupId) -> Vec<([u8; 10], Vec<u8>)> {
        let membership = StoredMembershipMsg::from(&self.membership).encode_to_vec();
        let applied = self
            .log_id
            .as_ref()
            .map(|id| LogIdMsg::from(id).encode_to_vec());
        let applied = applied.map(|applied| (meta_key(group_id, MetaField::Applied), applied));
        applied
            .into_iter()
            .chain([(meta_key(group_id, MetaField::Membership), membership)])
            .collect()
    }

    /// Adds those rows to a batch.
    pub(crate) fn write(&self, group_id: GroupId, batch: &mut WriteBatch) {
        for (key, value) in self.rows(group_id) {
            batch.put(key, value);
        }
    }
}

/// Reads how far a group's rows are in a view.
pub(crate) fn load_applied(
    view: &StateView<'_>,
    group_id: GroupId,
) -> Result<AppliedState, StateError> {
    let malformed = |error: crate::wire::WireError| StateError::Db(error.to_string());
    let applied = view.meta(group_id, MetaField::Applied)?;
    let applied = applied
        .map(|bytes| decode::<LogIdMsg>("applied log id", &bytes))
        .transpose()
        .map_err(malformed)?;
    let membership = view.meta(group_id, MetaField::Membership)?;
    let membership = membership.map(|bytes| decode::<StoredMembershipMsg>("membership", &bytes));
    let membership = membership.transpose().map_err(malformed)?;
    Ok(AppliedState {
        log_id: applied.map(LogId::from),
        membership: membership.map(StoredMembership::from).unwrap_or_default(),
    })
}
