//! I2: every accepted URL is in exactly one place: queued, scheduled, leased or ended (P2, P3).
//!
//! Closes: a late report after the expiry requeued the URL, so that it stands in the queue and is done; a removal that drops
//! a row between two places, so that the URL is in none and nobody ever notices, for the totals may still agree.

use super::{View, Violation, view::UrlKey, violation::ensure};
use crate::{command::lease::LeaseKind, keys::url::Stored};
use std::collections::BTreeMap;

const NUMBER: &str = "I2";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let mut places: BTreeMap<UrlKey, Vec<&'static str>> = BTreeMap::new();
    for queued in &view.queue {
        places
            .entry((queued.host.0, queued.place.fingerprint))
            .or_default()
            .push("queued");
    }
    for visit in &view.schedule {
        places
            .entry((visit.host.0, visit.fingerprint))
            .or_default()
            .push("scheduled");
    }
    for (partition, kind, fingerprint) in view.leases.keys() {
        if *kind == LeaseKind::Page as i32 {
            places
                .entry((*partition, *fingerprint))
                .or_default()
                .push("leased");
        }
    }
    for (key, row) in &view.urls {
        match row.state() {
            Stored::Waiting | Stored::Scheduled => {}
            Stored::Done => places.entry(*key).or_default().push("done"),
            Stored::Removed => places.entry(*key).or_default().push("removed"),
            Stored::Refused => places.entry(*key).or_default().push("refused"),
        }
    }
    for (key, found) in &places {
        ensure(found.len() == 1, NUMBER, || {
            format!("URL {key:x?} is in {found:?}")
        })?;
    }
    for key in &view.seen {
        ensure(places.contains_key(key), NUMBER, || {
            format!("URL {key:x?} was accepted and is nowhere")
        })?;
    }
    Ok(())
}
