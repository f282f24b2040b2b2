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
    let broken = |what: String| Violation { number: NUMBER, what };
    let rebuilt = Machine::rebuild(rows, machine.shard()).map_err(|error: MachineError| broken(error.to_string()))?;
    let rebuilt = rebuilt.ok_or_else(|| broken("the rows hold no such shard".into()))?;
    for (part, running, rebuilt) in [
        ("meta", format!("{:?}", machine.meta), format!("{:?}", rebuilt.meta)),
        ("crawls", format!("{:?}", machine.crawls), format!("{:?}", rebuilt.crawls)),
        ("hosts", format!("{:?}", machine.hosts), format!("{:?}", rebuilt.hosts)),
        ("leases", format!("{:?}", machine.leases), format!("{:?}", rebuilt.leases)),
        ("sessions", format!("{:?}", machine.sessions), format!("{:?}", rebuilt.sessions)),
        ("ready order", format!("{:?}", machine.index.entries()), format!("{:?}", rebuilt.index.entries())),
    ] {
        if running != rebuilt {
            return Err(broken(format!("{part}: {}", difference(&running, &rebuilt))));
        }
    }
    Ok(())
}

/// Both texts from shortly before they part.
fn difference(left: &str, right: &str) -> String {
    const AROUND: usize = 120;
    let same = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
    let cut = |text: &str| text.chars().skip(same.saturating_sub(AROUND)).take(2 * AROUND).collect::<String>();
    format!("running ..{}.. but rebuilt ..{}..", cut(left), cut(right))
}
