//! I4: no lease was granted before its host's clock: last contact + delay, and the back-off's end (P1).
//!
//! Closes: a host released from a place in the ready order that was computed before a longer delay or a back-off arrived.
//! While the lease is out neither last contact nor back-off moves, so that the rows still show it.

use super::{View, Violation, violation::ensure};

const NUMBER: &str = "I4";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    // Those that a recovery ends were granted before it set all clocks.
    let ending = view.meta.recovery.map_or(0, |recovery| recovery.token);
    let leases = view.leases.iter().filter(|(_, l)| l.token > ending);
    for (key, lease) in leases {
        let Some(host) = view.hosts.get(&(key.0, lease.host.clone())) else {
            continue;
        };
        let clock = host
            .last_contact_ms
            .map_or(0, |contact| contact.saturating_add(lease.delay_ms));
        ensure(lease.granted_ms >= clock, NUMBER, || {
            format!(
                "host {}: lease {key:x?} granted at {} before {clock}",
                lease.host, lease.granted_ms
            )
        })?;
        ensure(lease.granted_ms >= host.back_off_until_ms, NUMBER, || {
            format!(
                "host {}: lease {key:x?} granted at {} in back-off until {}",
                lease.host, lease.granted_ms, host.back_off_until_ms
            )
        })?;
    }
    Ok(())
}
