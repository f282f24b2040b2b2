//! I14: a host's budget is one row a crawl, and a crawl over its budget waits for a date after the cycle's end.
//!
//! Closes: budget rows that pile up with each cycle; a spent host that is woken inside the cycle it spent. That no fetch goes
//! beyond the budget is judged by the reference model, which knows the policy of that moment.

use super::{View, Violation, violation::ensure};
use std::collections::BTreeSet;

const NUMBER: &str = "I14";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    for (key, host) in &view.hosts {
        let crawls: BTreeSet<_> = host.budgets.iter().map(|row| row.crawl).collect();
        ensure(crawls.len() == host.budgets.len(), NUMBER, || {
            format!("host {key:x?}: {:?}", host.budgets)
        })?;
        for row in &host.budgets {
            ensure(view.crawls.contains_key(&row.crawl), NUMBER, || {
                format!("host {key:x?}: a budget of unknown crawl {}", row.crawl)
            })?;
            let wakes_late =
                row.wait_until_unix_ms == 0 || row.wait_until_unix_ms >= row.ends_unix_ms;
            ensure(wakes_late, NUMBER, || {
                format!("host {key:x?}: {row:?} wakes inside its cycle")
            })?;
        }
    }
    Ok(())
}
