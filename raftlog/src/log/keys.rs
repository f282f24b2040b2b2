//! Keys of the log database.

use crate::ids::GroupId;

const IDENTITY_TAG: u8 = 0x01;
const FIELD_TAG: u8 = 0x02;
const ENTRY_TAG: u8 = 0x10;

/// What a group keeps beside its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LogField {
    Vote = 1,
    Committed = 2,
    Purged = 3,
    Descriptor = 4,
}

/// Key of the node's identity.
pub(crate) fn identity_key() -> [u8; 1] {
    [IDENTITY_TAG]
}

/// Key of one of a group's fields.
pub(crate) fn field_key(group_id: GroupId, field: LogField) -> [u8; 10] {
    let mut key = [FIELD_TAG; 10];
    key[1..9].copy_from_slice(&group_id.to_be_bytes());
    key[9] = field as u8;
    key
}

/// The tag of all groups' fields, and where they begin.
pub(crate) fn fields_start() -> (u8, [u8; 1]) {
    (FIELD_TAG, [FIELD_TAG])
}

/// Key of an entry.
pub(crate) fn entry_key(group_id: GroupId, index: u64) -> [u8; 17] {
    let mut key = [ENTRY_TAG; 17];
    key[1..9].copy_from_slice(&group_id.to_be_bytes());
    key[9..].copy_from_slice(&index.to_be_bytes());
    key
}
