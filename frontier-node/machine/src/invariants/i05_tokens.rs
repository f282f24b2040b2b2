//! I5: tokens are unique, start at 1 and never exceed the shard's counter; an open lease's is newer than the one its URL closed.
//!
//! Closes case B7: a counter that starts again after a release, a restart or a removal, so that an old holder's report closes
//! the new holder's lease.

use super::{View, Violation, violation::ensure};
use crate::command::lease::LeaseKind;
use std::collections::BTreeMap;

const NUMBER: &str = "I5";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let newest = view.meta.token;
    let mut tokens = BTreeMap::new();
    for (key, lease) in &view.leases {
        ensure(lease.token >= 1 && lease.token <= newest, NUMBER, || {
            format!("lease {key:x?} has token {} of {newest}", lease.token)
        })?;
        let other = tokens.insert(lease.token, key);
        ensure(other.is_none(), NUMBER, || {
            format!("leases {key:x?} and {other:x?} share token {}", lease.token)
        })?;
        let closed = match key.1 == LeaseKind::Page as i32 {
            true => view
                .urls
                .get(&(key.0, key.2))
                .map_or(0, |row| row.closed_token),
            false => 0,
        };
        ensure(closed < lease.token, NUMBER, || {
            format!(
                "lease {key:x?} has token {} after {closed} was closed",
                lease.token
            )
        })?;
    }
    let closed = view.urls.values().map(|row| row.closed_token);
    let closed = closed.chain(view.robots.values().map(|row| row.closed_token));
    let granted = view
        .sessions
        .values()
        .flat_map(|row| row.grants.iter().map(|grant| grant.token));
    let beyond = closed.chain(granted).find(|token| *token > newest);
    ensure(beyond.is_none(), NUMBER, || {
        format!("token {beyond:?} was never granted, the newest is {newest}")
    })
}
