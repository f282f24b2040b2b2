//! I9: a host row exists while anything refers to it: queue, schedule, lease, errand, robots.
//!
//! Closes: a host forgotten with its last URL while its lease is out or its clock runs, so that the next discovery makes it anew
//! with no last contact and contacts it at once.

use super::{View, Violation, violation::ensure};

const NUMBER: &str = "I9";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let queued = view.queue.iter().map(|row| ("queue", row.host.clone()));
    let scheduled = view
        .schedule
        .iter()
        .map(|row| ("schedule", row.host.clone()));
    let leased = view
        .leases
        .iter()
        .map(|(key, row)| ("lease", (key.0, row.host.clone())));
    let errands = view
        .errands
        .keys()
        .map(|(host, _)| ("errand", host.clone()));
    let robots = view.robots.keys().map(|(host, _)| ("robots", host.clone()));
    for (space, host) in queued
        .chain(scheduled)
        .chain(leased)
        .chain(errands)
        .chain(robots)
    {
        ensure(view.hosts.contains_key(&host), NUMBER, || {
            format!("{space} row of host {host:x?}, which has no row")
        })?;
    }
    let mut ids = std::collections::BTreeMap::new();
    for (key, host) in &view.hosts {
        let other = ids.insert(host.id, key);
        ensure(other.is_none(), NUMBER, || {
            format!("hosts {key:x?} and {other:x?} share the id {:x}", host.id)
        })?;
    }
    Ok(())
}
