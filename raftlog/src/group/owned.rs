//! The ranges of a group as recorded beside its rows, so that they are known while the group is not open.
//!
//! Recorded when the group is founded out of another's rows, opened, or fed a snapshot. A group only ever gives ranges away
//! between these, so that what is recorded holds all of its rows, and maybe some that are not its any more.

use prost::Message;

use crate::errors::StateError;
use crate::ids::GroupId;
use crate::rows::KeyRange;
use crate::state::{MetaField, StateView, meta_key};
use crate::wire::{RangeMsg, RangesMsg, decode};

/// The group's own row that says this.
pub(crate) fn owned_row(group_id: GroupId, ranges: &[KeyRange]) -> ([u8; 10], Vec<u8>) {
    let ranges = ranges.iter().cloned().map(RangeMsg::from).collect();
    let value = RangesMsg { ranges }.encode_to_vec();
    (meta_key(group_id, MetaField::Ranges), value)
}

/// What is recorded; none in a directory of before, and for a founder that was never opened.
pub(crate) fn load_owned(
    view: &StateView<'_>,
    group_id: GroupId,
) -> Result<Option<Vec<KeyRange>>, StateError> {
    let Some(bytes) = view.meta(group_id, MetaField::Ranges)? else {
        return Ok(None);
    };
    let owned: RangesMsg =
        decode("ranges", &bytes).map_err(|error| StateError::Db(error.to_string()))?;
    Ok(Some(owned.ranges.into_iter().map(KeyRange::from).collect()))
}
