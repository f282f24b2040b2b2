//! I3: at most one lease of a host is out, whatever its kind, crawl or port (P1).
//!
//! Closes: two lease calls in one entry, a page beside a robots.txt or an errand, or a removed crawl made anew while the old
//! one's lease is still out: each would contact the host twice with no clock between.

use super::{View, Violation, violation::ensure};
use std::collections::BTreeMap;

const NUMBER: &str = "I3";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let mut hosts = BTreeMap::new();
    for (key, row) in &view.leases {
        let other = hosts.insert((key.0, row.host.as_str()), key);
        ensure(other.is_none(), NUMBER, || {
            format!("host {} has the leases {key:x?} and {other:x?}", row.host)
        })?;
    }
    Ok(())
}
