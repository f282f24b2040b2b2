//! I23: after a recovery no host is leased before every lease that may have been lost is over (P1).
//!
//! Closes: a shard restored from a backup, or that lost the entries of its last leader, leases a host that a fetcher still
//! contacts under a lease nobody here knows of; a host that is heard of only after the recovery, which looks as if it had
//! never been contacted; a token that is given out twice, so that the lost lease's holder closes the new one's.

use super::{View, Violation, violation::ensure};

const NUMBER: &str = "I23";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let Some(recovery) = view.meta.recovery else {
        return Ok(());
    };
    ensure(view.meta.token >= recovery.token, NUMBER, || {
        format!(
            "the token counter is {}, and was {} at the recovery",
            view.meta.token, recovery.token
        )
    })?;
    for (key, lease) in &view.leases {
        if lease.token <= recovery.token {
            continue;
        }
        let from_ms = recovery.until_ms.saturating_add(lease.delay_ms);
        ensure(lease.granted_ms >= from_ms, NUMBER, || {
            format!(
                "host {}: lease {key:x?} granted at {}, and lost leases reach until {}",
                lease.host, lease.granted_ms, recovery.until_ms
            )
        })?;
    }
    Ok(())
}
