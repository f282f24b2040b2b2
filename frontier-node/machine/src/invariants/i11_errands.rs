//! I11: a host counts its errands, holds at most 16, at most one for each origin and of at most five hops.
//!
//! Closes: two robots.txt that redirect to each other for ever; a thousand sites whose robots.txt all point at one victim.

use super::{View, Violation, view::HostKey, violation::ensure};
use crate::limits::{ERRAND_HOPS, ERRANDS_PER_HOST};
use std::collections::{BTreeMap, BTreeSet};

const NUMBER: &str = "I11";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let mut waiting: BTreeMap<&HostKey, u32> = BTreeMap::new();
    let mut origins = BTreeSet::new();
    for ((host, fingerprint), row) in &view.errands {
        let Some(errand) = &row.errand else {
            return Err(Violation {
                number: NUMBER,
                what: format!("errand {fingerprint:x} at {host:x?} is empty"),
            });
        };
        ensure(origins.insert((host, &errand.origin)), NUMBER, || {
            format!("{host:x?} has two errands for {}", errand.origin)
        })?;
        ensure((1..=ERRAND_HOPS).contains(&errand.hop), NUMBER, || {
            format!("errand {fingerprint:x} at {host:x?} has hop {}", errand.hop)
        })?;
        *waiting.entry(host).or_default() += 1;
    }
    for (key, host) in &view.hosts {
        let rows = waiting.get(key).copied().unwrap_or_default();
        ensure(host.errands == rows, NUMBER, || {
            format!("{key:x?} counts {} errands and has {rows}", host.errands)
        })?;
        ensure(rows as usize <= ERRANDS_PER_HOST, NUMBER, || {
            format!("{key:x?} has {rows} errands")
        })?;
    }
    Ok(())
}
