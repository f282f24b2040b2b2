//! I7: a host counts its scheduled visits, knows the earliest, and a bound that none exceeds.
//!
//! Closes: a visit that nobody wakes up for because the host's earliest date belongs to a visit that was removed; one dated by a
//! clock that was set back since, which nobody finds behind a nearer one.

use super::{View, Violation, view::HostKey, violation::ensure};
use std::collections::BTreeMap;

const NUMBER: &str = "I7";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let mut found: BTreeMap<&HostKey, (u32, u64)> = BTreeMap::new();
    for visit in &view.schedule {
        let (count, earliest) = found.entry(&visit.host).or_insert((0, u64::MAX));
        *count += 1;
        *earliest = (*earliest).min(visit.due_unix_ms);
    }
    for (key, host) in &view.hosts {
        let (count, earliest) = found
            .get(key)
            .map_or((0, None), |(count, earliest)| (*count, Some(*earliest)));
        ensure(
            (host.scheduled, host.due_unix_ms) == (count, earliest),
            NUMBER,
            || {
                format!(
                    "host {key:x?} says {} visits from {:?}, rows say {count} from {earliest:?}",
                    host.scheduled, host.due_unix_ms
                )
            },
        )?;
    }
    for visit in &view.schedule {
        let bound = view
            .hosts
            .get(&visit.host)
            .map(|host| host.last_due_unix_ms);
        ensure(
            bound.is_some_and(|bound| visit.due_unix_ms <= bound),
            NUMBER,
            || {
                format!(
                    "a visit of host {:x?} at {}, none should be after {bound:?}",
                    visit.host, visit.due_unix_ms
                )
            },
        )?;
    }
    Ok(())
}
