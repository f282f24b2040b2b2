//! I15: a lease row stands under its own key, its time to live is within the limits, it was granted in the past.
//!
//! Closes: a lease that never expires (case B2) or that expires before its fetcher can have heard of it.

use super::{View, Violation, violation::ensure};
use crate::{
    command::lease::{LeaseKey, LeaseKind},
    limits::LEASE_TTL_MS,
};

const NUMBER: &str = "I15";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    for (&(partition, kind, fingerprint), lease) in &view.leases {
        ensure(LeaseKind::try_from(kind).is_ok(), NUMBER, || {
            format!("lease {fingerprint:x} has kind {kind}")
        })?;
        let own = LeaseKey {
            kind,
            partition,
            fingerprint,
        };
        ensure(lease.key == Some(own), NUMBER, || {
            format!("lease under {own:x?} says {:x?}", lease.key)
        })?;
        let ttl_ms = lease.deadline_ms.checked_sub(lease.granted_ms);
        ensure(
            ttl_ms.is_some_and(|ttl| (LEASE_TTL_MS.0..=LEASE_TTL_MS.1).contains(&ttl)),
            NUMBER,
            || {
                format!(
                    "lease {own:x?} lasts from {} to {}",
                    lease.granted_ms, lease.deadline_ms
                )
            },
        )?;
        ensure(lease.granted_ms <= view.meta.now_ms, NUMBER, || {
            format!("lease {own:x?} was granted at {}", lease.granted_ms)
        })?;
        let has_work = match kind == LeaseKind::Errand as i32 {
            true => lease.errand.is_some(),
            false => lease.errand.is_none(),
        };
        ensure(has_work, NUMBER, || {
            format!("lease {own:x?} and its errand {:?}", lease.errand)
        })?;
        let marked = lease.removed || lease.forget;
        ensure(!marked || kind == LeaseKind::Page as i32, NUMBER, || {
            format!("lease {own:x?} of no URL is marked as removed")
        })?;
    }
    Ok(())
}
