//! I22: every entry ends the leases that are due, up to its slice (case B2).
//!
//! Closes: a shard that only expires leases when it is asked for some, so that hosts of dead fetchers stay in flight for ever
//! (case B22).

use super::{View, Violation, violation::ensure};
use crate::limits::EXPIRIES_PER_ENTRY;

const NUMBER: &str = "I22";

pub(super) fn check(before: &View, after: &View) -> Result<(), Violation> {
    let due = |view: &View| {
        view.leases
            .values()
            .filter(|lease| lease.deadline_ms <= after.meta.now_ms)
            .count()
    };
    let (old, new) = (due(before), due(after));
    ensure(
        new <= old.saturating_sub(EXPIRIES_PER_ENTRY),
        NUMBER,
        || format!("{old} leases were due, {new} still are"),
    )
}
