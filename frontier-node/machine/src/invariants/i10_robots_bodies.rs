//! I10: a robots body is stored exactly while an authority's rules are it.
//!
//! Closes: two authorities with the same body, one of which changes its rules and takes the other's body along (every page of the
//! other then fails its check); and bodies of up to 500 KiB that nothing refers to and nothing deletes.

use super::{View, Violation, violation::ensure};
use crate::limits::ROBOTS_BODY_SIZE_BYTES;
use std::collections::BTreeMap;

const NUMBER: &str = "I10";

/// `AuthorityRow::good`: there are rules.
const RULES: u32 = 2;

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let mut wanted: BTreeMap<(u64, Vec<u8>), usize> = BTreeMap::new();
    for (key, host) in &view.hosts {
        for authority in host
            .authorities
            .iter()
            .filter(|authority| authority.good == RULES)
        {
            *wanted.entry((key.0, authority.digest.clone())).or_default() += 1;
        }
    }
    let mut found: BTreeMap<(u64, Vec<u8>), usize> = BTreeMap::new();
    for (partition, digest, _) in &view.references {
        *found.entry((*partition, digest.clone())).or_default() += 1;
    }
    ensure(wanted == found, NUMBER, || {
        format!("authorities have the rules {wanted:x?}, the references are {found:x?}")
    })?;
    let bodies: Vec<_> = view.bodies.keys().collect();
    let referred: Vec<_> = found.keys().collect();
    ensure(bodies == referred, NUMBER, || {
        format!("bodies {bodies:x?} but references to {referred:x?}")
    })?;
    let large = view
        .bodies
        .iter()
        .find(|(_, size_bytes)| **size_bytes > ROBOTS_BODY_SIZE_BYTES);
    ensure(large.is_none(), NUMBER, || {
        format!("a body of {large:x?} bytes")
    })
}
