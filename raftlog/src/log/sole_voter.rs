//! The log of a replica that is made the only voter of its group: what it holds stays, and one entry more says who votes.

use bytes::Bytes;
use openraft::EntryPayload;
use prost::Message;
use rocksdb::{DB, WriteBatch, WriteOptions};

use super::keys::{LogField, entry_key, field_key};
use super::load::{LoadError, entry_at, field, last_entry};
use super::tail::size_bytes;
use crate::ids::{GroupId, NodeId};
use crate::raft_types::{Entry, LogId, Membership, Payload, log_id};
use crate::wire::{DescriptorMsg, EntryMsg, LogIdMsg, VoteMsg};

/// Ends a group's log with a membership of one voter and then these payloads, and makes that voter the replica here; all in
/// one synced batch. Up to `applied` everything is in the rows. Gives the index of the last entry that was there. Blocks; the group must not be open.
pub(crate) fn append_sole_voter(
    db: &DB,
    group_id: GroupId,
    applied: LogId,
    replica: NodeId,
    payloads: Vec<Bytes>,
) -> Result<u64, LoadError> {
    let stored = last_entry(db, group_id, u64::MAX)?;
    let purged = field::<LogIdMsg>(db, group_id, LogField::Purged)?.map(LogId::from);
    let in_log = stored.as_ref().map(|entry| log_id(entry.term, entry.index));
    let vote = field::<VoteMsg>(db, group_id, LogField::Vote)?.unwrap_or_default();
    let mut batch = WriteBatch::default();
    // A power cut left a log that ends before the rows do, or whose tail others replaced: all of it is in the rows.
    let is_behind = in_log.max(purged) < Some(applied);
    if is_behind {
        batch.delete_range(entry_key(group_id, 0), entry_key(group_id, u64::MAX));
        let value = LogIdMsg::from(&applied).encode_to_vec();
        batch.put(field_key(group_id, LogField::Purged), value);
    }
    let last = in_log.max(purged).max(Some(applied)).unwrap_or(applied);
    // Above every term that this replica has heard of: whoever is lost can have made no entry of it here.
    let term = vote.term.max(last.leader_id.term) + 1;
    let mut end_bytes = match entry_at(db, group_id, last.index)? {
        Some(entry) if !is_behind => entry.end_offset_bytes,
        _ => 0,
    };
    let voters = std::collections::BTreeSet::from([replica]);
    let membership = Membership::new_with_defaults(vec![voters], []);
    let first = EntryPayload::Membership(membership);
    let payloads = payloads
        .into_iter()
        .map(|bytes| EntryPayload::Normal(Payload(bytes)));
    for (index, payload) in (last.index + 1..).zip(std::iter::once(first).chain(payloads)) {
        let entry = Entry {
            log_id: log_id(term, index),
            payload,
        };
        end_bytes += size_bytes(&entry) as u64;
        let value = EntryMsg::stored(&entry, end_bytes).encode_to_vec();
        batch.put(entry_key(group_id, index), value);
    }
    let vote = VoteMsg {
        term,
        node_id: replica,
        committed: false,
    };
    // As of one that joined: who founded the group votes no more.
    let descriptor = DescriptorMsg {
        joined: true,
        replica,
        ..DescriptorMsg::default()
    };
    for (which, value) in [
        (LogField::Vote, vote.encode_to_vec()),
        (LogField::Descriptor, descriptor.encode_to_vec()),
    ] {
        batch.put(field_key(group_id, which), value);
    }
    let mut options = WriteOptions::default();
    options.set_sync(true);
    db.write_opt(batch, &options)?;
    Ok(last.index)
}
