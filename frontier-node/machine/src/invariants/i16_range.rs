//! I16: every row lies inside the shard's range of the partition hash (P3).
//!
//! Closes: a URL accepted by two shards, because one of them judged the batch and not the item.

use super::{View, Violation, violation::ensure};

const NUMBER: &str = "I16";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let range = view.meta.first..=view.meta.last;
    let hosts = view.hosts.keys().map(|key| ("host", key.0));
    let queue = view.queue.iter().map(|row| ("queue", row.host.0));
    let schedule = view.schedule.iter().map(|row| ("schedule", row.host.0));
    let leases = view.leases.keys().map(|key| ("lease", key.0));
    let seen = view.seen.iter().map(|key| ("seen", key.0));
    let urls = view.urls.keys().map(|key| ("url", key.0));
    let outbox = view.outbox.keys().map(|key| ("outbox", key.0));
    let bodies = view.bodies.keys().map(|key| ("robots_body", key.0));
    let all = hosts
        .chain(queue)
        .chain(schedule)
        .chain(leases)
        .chain(seen)
        .chain(urls)
        .chain(outbox)
        .chain(bodies);
    for (space, partition) in all {
        ensure(range.contains(&partition), NUMBER, || {
            format!("{space} row of partition {partition:x} outside {range:x?}")
        })?;
    }
    Ok(())
}
