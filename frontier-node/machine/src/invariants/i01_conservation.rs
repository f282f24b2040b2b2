//! I1: accepted = queued + scheduled + leased + done + removed + refused, and each term is the number of its rows (P2).
//!
//! Closes: an end that moves a URL and forgets one side of the books. A leak shows at the entry that made it, not as a crawl
//! that never finishes. Only `removed` may exceed its rows: a removal that forgets deletes the row and keeps the count.
//!
//! A split shares out what hosts in memory know; how a URL ended on a host that is forgotten stays in the books of the parent
//! while its row is the child's. So of ended URLs a parent counts at least its rows and a child at most.

use super::{View, Violation, violation::ensure};
use crate::{command::lease::LeaseKind, keys::url::Stored};

const NUMBER: &str = "I1";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let meta = &view.meta;
    let sum = meta.queued + meta.scheduled + meta.leased + meta.done + meta.removed + meta.refused;
    ensure(meta.accepted == sum, NUMBER, || {
        format!(
            "accepted {} but the terms add up to {sum}: {meta:?}",
            meta.accepted
        )
    })?;
    let pages = view
        .leases
        .keys()
        .filter(|(_, kind, _)| *kind == LeaseKind::Page as i32)
        .count() as u64;
    let ended = |state: Stored| {
        view.urls
            .values()
            .filter(|row| row.state == state as i32)
            .count() as u64
    };
    for (name, term, rows) in [
        ("queued", meta.queued, view.queue.len() as u64),
        ("scheduled", meta.scheduled, view.schedule.len() as u64),
        ("leased", meta.leased, pages),
    ] {
        ensure(term == rows, NUMBER, || {
            format!("{name} counts {term} and has {rows} rows")
        })?;
    }
    let (is_child, is_parent) = (meta.split_from.is_some(), !meta.splits.is_empty());
    for (name, term, rows) in [
        ("done", meta.done, ended(Stored::Done)),
        ("refused", meta.refused, ended(Stored::Refused)),
    ] {
        let agrees = (is_child || term >= rows) && (is_parent || term <= rows);
        ensure(agrees, NUMBER, || {
            format!("{name} counts {term} and has {rows} rows")
        })?;
    }
    let removed = ended(Stored::Removed);
    ensure(is_child || meta.removed >= removed, NUMBER, || {
        format!("removed counts {} and has {removed} rows", meta.removed)
    })
}
