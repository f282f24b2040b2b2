//! I8: whatever is queued, scheduled, leased or recorded is in `seen` (P3).
//!
//! Closes: a URL that is offered again while its first copy is on its way and is enqueued twice.

use super::{View, Violation, violation::ensure};
use crate::command::lease::LeaseKind;

const NUMBER: &str = "I8";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let queued = view
        .queue
        .iter()
        .map(|row| ("queue", (row.host.0, row.place.fingerprint)));
    let scheduled = view
        .schedule
        .iter()
        .map(|row| ("schedule", (row.host.0, row.fingerprint)));
    let leased = view
        .leases
        .keys()
        .filter(|key| key.1 == LeaseKind::Page as i32)
        .map(|key| ("lease", (key.0, key.2)));
    let recorded = view.urls.keys().map(|key| ("url", *key));
    for (space, key) in queued.chain(scheduled).chain(leased).chain(recorded) {
        ensure(view.seen.contains(&key), NUMBER, || {
            format!("{space} row of {key:x?}, which was never seen")
        })?;
    }
    Ok(())
}
