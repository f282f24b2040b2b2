//! I21: a lease that is out does not change: not its token, host, work, grant or deadline; a removal only marks it.
//!
//! Closes: a repeated call that grants a fresh deadline, so that the fetcher that got the first answer and the one that got
//! the second disagree on when the lease ends; a removal that takes the lease and frees the host while it is contacted.

use super::{View, Violation, violation::ensure};

const NUMBER: &str = "I21";

pub(super) fn check(before: &View, after: &View) -> Result<(), Violation> {
    for (key, old) in &before.leases {
        let Some(new) = after.leases.get(key) else {
            continue;
        };
        if old.token != new.token {
            continue;
        }
        let mut marked = old.clone();
        marked.removed |= new.removed;
        marked.forget |= new.forget;
        ensure(marked == *new, NUMBER, || {
            format!("lease {key:x?} changed from {old:x?} to {new:x?}")
        })?;
    }
    Ok(())
}
