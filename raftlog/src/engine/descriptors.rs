//! What the log says of the groups that were made here: the replica's own id, how it came, whether it was removed.

use std::sync::Arc;

use rocksdb::{DB, Direction, IteratorMode};

use super::Shared;
use crate::errors::GroupError;
use crate::ids::{GroupId, NodeId};
use crate::log::{LogField, field_key, fields_start};
use crate::wire::{DescriptorMsg, decode};

/// Decodes one; directories of before do not name the replica, which was the node's own id in every group.
fn read(bytes: &[u8], node_id: NodeId) -> Result<DescriptorMsg, String> {
    let mut found: DescriptorMsg =
        decode("descriptor", bytes).map_err(|error| error.to_string())?;
    if found.replica == 0 {
        found.replica = node_id;
    }
    Ok(found)
}

/// Those of all groups, with those that were removed. Blocks.
pub(super) fn all_descriptors(
    db: &DB,
    node_id: NodeId,
) -> Result<Vec<(GroupId, DescriptorMsg)>, String> {
    let (tag, start) = fields_start();
    let mut found = Vec::new();
    for row in db.iterator(IteratorMode::From(&start, Direction::Forward)) {
        let (key, value) = row.map_err(|error| error.to_string())?;
        if key.first() != Some(&tag) {
            break;
        }
        let id = key.get(1..9).and_then(|bytes| bytes.try_into().ok());
        if let Some(group_id) = id.map(u64::from_be_bytes)
            && key.as_ref() == field_key(group_id, LogField::Descriptor)
        {
            found.push((group_id, read(&value, node_id)?));
        }
    }
    Ok(found)
}

impl Shared {
    /// What is known of a group, also if it was removed. Blocks.
    pub(crate) fn read_descriptor(
        &self,
        group_id: GroupId,
    ) -> Result<Option<DescriptorMsg>, String> {
        let db = self.log_cell.get().map_err(|error| error.to_string())?;
        let found = db
            .get(field_key(group_id, LogField::Descriptor))
            .map_err(|error| error.to_string())?;
        found
            .map(|bytes| read(&bytes, self.options.node_id))
            .transpose()
    }

    /// The same from a task.
    pub(crate) async fn descriptor_of(
        self: &Arc<Self>,
        group_id: GroupId,
    ) -> Result<Option<DescriptorMsg>, GroupError> {
        let there = Arc::clone(self);
        let look = move || there.read_descriptor(group_id);
        self.look(group_id, look).await
    }

    /// The replica of a group that can be opened.
    pub(crate) async fn replica_of(
        self: &Arc<Self>,
        group_id: GroupId,
    ) -> Result<NodeId, GroupError> {
        match self.descriptor_of(group_id).await? {
            None => Err(GroupError::Unknown(group_id)),
            Some(DescriptorMsg {
                removed: true,
                replica,
                ..
            }) => Err(GroupError::Removed { group_id, replica }),
            Some(known) => Ok(known.replica),
        }
    }

    /// Reads something of a group on a thread that may block.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        group_id: GroupId,
        look: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, GroupError> {
        let storage = |reason: String| GroupError::Storage { group_id, reason };
        let found = self.read_lanes.run(group_id, look).await;
        found
            .map_err(|error| storage(error.to_string()))?
            .map_err(storage)
    }
}
