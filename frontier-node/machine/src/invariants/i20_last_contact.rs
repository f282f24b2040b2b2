//! I20: a host's last contact never goes back and never lies ahead; a host row goes only when its clocks are past, and
//! those that a live crawl's least delay could give it (P1).
//!
//! Closes: a report with a lying age that sets the clock back; a host row dropped with its crawl while its delay, back-off
//! or block still runs, so that a crawl made anew contacts the host at once; one dropped when the delay of the crawl last on it is
//! past, so that another with a longer one contacts it too early.

use super::{View, Violation, violation::ensure};
use crate::{limits, state::Policy};

const NUMBER: &str = "I20";

pub(super) fn check(before: &View, after: &View) -> Result<(), Violation> {
    let now_ms = after.meta.now_ms;
    let live = before.crawls.values().filter(|crawl| !crawl.removed);
    let least_ms = live
        .filter_map(|crawl| crawl.policy.as_ref())
        .map(|given| Policy::of(given).min_delay_ms)
        .max()
        .unwrap_or(0)
        .max(limits::HOST_KEPT_MS);
    // What a split hands over is looked at with the child's rows.
    let range = after.meta.first..=after.meta.last;
    for (key, old) in before
        .hosts
        .iter()
        .filter(|(key, _)| range.contains(&key.0))
    {
        let contact = old.last_contact_ms.map_or(0, |contact| {
            contact.saturating_add(old.delay_ms.max(least_ms))
        });
        let clock = contact.max(old.back_off_until_ms).max(old.blocked_until_ms);
        let Some(new) = after.hosts.get(key) else {
            ensure(clock <= now_ms, NUMBER, || {
                format!("host {key:x?} is gone at {now_ms}, its clock runs until {clock}")
            })?;
            continue;
        };
        // One entry may forget an idle host and make it anew.
        let kept = old.last_contact_ms <= new.last_contact_ms;
        ensure(kept || clock <= now_ms, NUMBER, || {
            format!(
                "host {key:x?}: last contact went from {:?} to {:?}",
                old.last_contact_ms, new.last_contact_ms
            )
        })?;
    }
    // A recovery counts contacts that may still be made.
    let recovery = after.meta.recovery;
    let latest_ms = now_ms.max(recovery.map_or(0, |recovery| recovery.until_ms));
    for (key, host) in &after.hosts {
        let contact = host.last_contact_ms;
        ensure(
            contact.is_none_or(|contact| contact <= latest_ms),
            NUMBER,
            || format!("host {key:x?}: last contact {contact:?} at {now_ms}"),
        )?;
    }
    Ok(())
}
