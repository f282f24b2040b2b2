//! I13: a session is kept no longer than a lease of it can be out, and names at most one call's grants.
//!
//! Closes: fetchers that restart for ever with a new session each and fill the shard with answers nobody will ask for again.

use super::{View, Violation, violation::ensure};
use crate::limits::{LEASE_TTL_MS, LEASES_PER_CALL};

const NUMBER: &str = "I13";

/// Bytes of a session's name.
const SESSION_SIZE_BYTES: usize = 16;

pub(super) fn check(view: &View) -> Result<(), Violation> {
    for (name, row) in &view.sessions {
        ensure(
            name.len() == SESSION_SIZE_BYTES && row.number >= 1,
            NUMBER,
            || format!("session {name:x?} answered {}", row.number),
        )?;
        ensure(row.grants.len() <= LEASES_PER_CALL as usize, NUMBER, || {
            format!("session {name:x?} has {} grants", row.grants.len())
        })?;
        let latest = view.meta.now_ms.saturating_add(LEASE_TTL_MS.1);
        ensure(row.expires_ms <= latest, NUMBER, || {
            format!(
                "session {name:x?} expires at {}, now + ttl is {latest}",
                row.expires_ms
            )
        })?;
    }
    Ok(())
}
