//! Keys of the state database.

use crate::ids::GroupId;
use crate::rows::KeyRange;

const META_TAG: u8 = 0x01;
const USER_TAG: u8 = 0x10;

/// What a group keeps beside its users' rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetaField {
    Applied = 1,
    Membership = 2,
    Ranges = 3,
}

/// Key of a group's own row.
pub(crate) fn meta_key(group_id: GroupId, field: MetaField) -> [u8; 10] {
    let mut key = [META_TAG; 10];
    key[1..9].copy_from_slice(&group_id.to_be_bytes());
    key[9] = field as u8;
    key
}

/// First key of a group's own rows, and the first behind them.
pub(crate) fn meta_bounds(group_id: GroupId) -> ([u8; 10], [u8; 10]) {
    let (mut start, mut end) = ([META_TAG; 10], [META_TAG; 10]);
    for (key, last) in [(&mut start, 0), (&mut end, u8::MAX)] {
        key[1..9].copy_from_slice(&group_id.to_be_bytes());
        key[9] = last;
    }
    (start, end)
}

/// The tag of all groups' own rows, and where they begin.
pub(crate) fn metas_start() -> (u8, [u8; 1]) {
    (META_TAG, [META_TAG])
}

/// Key of a user's row.
pub(crate) fn user_key(key: &[u8]) -> Vec<u8> {
    let mut tagged = Vec::with_capacity(key.len() + 1);
    tagged.push(USER_TAG);
    tagged.extend_from_slice(key);
    tagged
}

/// First key of a user's range, and the first behind it.
pub(crate) fn user_bounds(range: &KeyRange) -> (Vec<u8>, Vec<u8>) {
    let end = range
        .end
        .as_deref()
        .map_or_else(|| vec![USER_TAG + 1], user_key);
    (user_key(&range.start), end)
}
