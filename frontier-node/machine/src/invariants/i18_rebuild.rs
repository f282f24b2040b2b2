//! I18: the machine in memory is what its rows say: one rebuilt from them has the same hosts, leases, sessions and the same order.
//!
//! Closes: a replica that restarted or took a snapshot makes another next choice than those that did not, and the replicas
//! drift apart without anybody noticing (cases B25, J5). It covers the ready order too: its keys follow from host rows, so
//! that an entry left behind in it shows here.

use super::Violation;
use crate::{Machine, MachineError, Rows};

const NUMBER: &str = "I18";

/// Compares a running machine, whose changes are all in `rows`, with one rebuilt from them.
///
/// # Errors
///
/// The first part that differs, or rows that cannot be read.
pub fn check(machine: &Machine, rows: &dyn Rows) -> Result<(), Violation> {
    let broken = |what: String| Violation {
        number: NUMBER,
        what,
    };
    let rebuilt = Machine::rebuild(rows, machine.shard())
        .map_err(|error: MachineError| broken(error.to_string()))?;
    let rebuilt = rebuilt.ok_or_else(|| broken("the rows hold no such shard".into()))?;
    for (part, running, rebuilt) in [
        (
            "meta",
            format!("{:?}", machine.meta),
            format!("{:?}", rebuilt.meta),
        ),
        (
            "crawls",
            format!("{:?}", machine.crawls),
            format!("{:?}", rebuilt.crawls),
        ),
        (
            "hosts",
            without_rest(format!("{:?}", machine.hosts)),
            without_rest(format!("{:?}", rebuilt.hosts)),
        ),
        (
            "leases",
            format!("{:?}", machine.leases),
            format!("{:?}", rebuilt.leases),
        ),
        (
            "sessions",
            format!("{:?}", machine.sessions),
            format!("{:?}", rebuilt.sessions),
        ),
        (
            "outbox",
            format!("{:?}", machine.outbox),
            format!("{:?}", rebuilt.outbox),
        ),
        (
            "order",
            without_empty(format!("{:?}", machine.index)),
            without_empty(format!("{:?}", rebuilt.index)),
        ),
    ] {
        if running != rebuilt {
            return Err(broken(format!(
                "{part}: {}",
                difference(&running, &rebuilt)
            )));
        }
    }
    Ok(())
}

/// Hosts without what few have, when it says nothing.
fn without_rest(hosts: String) -> String {
    hosts.replace(
        "Some(Rest { blocked_until_ms: 0, min_delay_ms: 0, paused: false, budgets: [] })",
        "None",
    )
}

/// The ordered sets without crawls of which nothing is left: a running machine keeps their empty sets, which means nothing.
fn without_empty(mut sets: String) -> String {
    const EMPTY: &str = ": [{}, {}, {}, {}, {}, {}, {}, {}]";
    while let Some(at) = sets.find(EMPTY) {
        let digits = sets[..at]
            .chars()
            .rev()
            .take_while(char::is_ascii_digit)
            .count();
        let mut range = at - digits..at + EMPTY.len();
        if sets[range.end..].starts_with(", ") {
            range.end += 2;
        } else if sets[..range.start].ends_with(", ") {
            range.start -= 2;
        }
        sets.replace_range(range, "");
    }
    sets
}

/// Both texts from shortly before they part.
fn difference(left: &str, right: &str) -> String {
    const AROUND: usize = 120;
    let same = left
        .chars()
        .zip(right.chars())
        .take_while(|(left, right)| left == right)
        .count();
    let cut = |text: &str| {
        text.chars()
            .skip(same.saturating_sub(AROUND))
            .take(2 * AROUND)
            .collect::<String>()
    };
    format!("running ..{}.. but rebuilt ..{}..", cut(left), cut(right))
}
