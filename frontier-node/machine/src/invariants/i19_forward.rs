//! I19: shard time, the token counter, the outbox sequence and every total of ended things only go forward.
//!
//! Closes: an entry stamped by a leader whose clock is behind sets the shard's time back, and every deadline with it; a
//! token counter restored from an older place; a split whose child begins to count tokens anew.
//!
//! A split hands part of the books over: of totals and counters nothing is said over that step.

use super::{View, Violation, violation::ensure};

const NUMBER: &str = "I19";

pub(super) fn check(before: &View, after: &View) -> Result<(), Violation> {
    let (old, new) = (&before.meta, &after.meta);
    for (name, old, new) in [
        ("shard time", old.now_ms, new.now_ms),
        ("token counter", old.token, new.token),
        ("outbox sequence", old.outbox_sequence, new.outbox_sequence),
        ("epoch", old.epoch, new.epoch),
    ] {
        ensure(old <= new, NUMBER, || {
            format!("{name} went from {old} to {new}")
        })?;
    }
    if before.is_split_by(after) {
        return Ok(());
    }
    for (name, old, new) in [
        ("outbox in", old.outbox_in, new.outbox_in),
        (
            "outbox delivered",
            old.outbox_delivered,
            new.outbox_delivered,
        ),
        ("accepted", old.accepted, new.accepted),
    ] {
        ensure(old <= new, NUMBER, || {
            format!("{name} went from {old} to {new}")
        })?;
    }
    for (at, (old, new)) in old.counters.iter().zip(&new.counters).enumerate() {
        ensure(old <= new, NUMBER, || {
            format!("counter {at} went from {old} to {new}")
        })?;
    }
    // One entry may forget a session and make it anew.
    for (name, old) in before
        .sessions
        .iter()
        .filter(|(_, old)| old.expires_ms > new.now_ms)
    {
        let newer = after
            .sessions
            .get(name)
            .is_none_or(|new| new.number >= old.number);
        ensure(newer, NUMBER, || {
            format!("session {name:x?} went back from number {}", old.number)
        })?;
    }
    Ok(())
}
