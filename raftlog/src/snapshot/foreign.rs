//! Whether rows that a snapshot would replace are another group's.

use crate::errors::StateError;
use crate::group::{Instance, load_owned};
use crate::ids::GroupId;
use crate::rows::KeyRange;
use crate::state::{StateView, groups_with_rows};

/// A group of this node, other than that of `instance`, that owns rows of the ranges. What a group that is not open owns is
/// known as it was recorded, or not at all: then all rows may be its own. Blocks.
pub(super) fn foreign_owner<'a>(
    instance: &Instance,
    ranges: impl Iterator<Item = &'a KeyRange> + Clone,
) -> Result<Option<GroupId>, StateError> {
    let touches = |owned: &[KeyRange]| {
        owned
            .iter()
            .any(|owned| ranges.clone().any(|range| overlap(owned, range)))
    };
    let others = instance.shared.flusher.others(instance.group_id);
    if let Some(owner) = others.iter().find(|other| touches(&other.ranges())) {
        return Ok(Some(owner.group_id));
    }
    let is_open = |group_id: GroupId| {
        group_id == instance.group_id || others.iter().any(|other| other.group_id == group_id)
    };
    let db = instance.shared.state_cell.get_at(instance.generation)?;
    let view = StateView::new(&db);
    for group_id in groups_with_rows(&db)? {
        if is_open(group_id) {
            continue;
        }
        let owned = load_owned(&view, group_id)?;
        if owned.is_none_or(|owned| touches(&owned)) {
            return Ok(Some(group_id));
        }
    }
    Ok(None)
}

fn overlap(a: &KeyRange, b: &KeyRange) -> bool {
    let before = |a: &KeyRange, b: &KeyRange| a.end.as_ref().is_some_and(|end| *end <= b.start);
    !a.is_empty() && !b.is_empty() && !before(a, b) && !before(b, a)
}
