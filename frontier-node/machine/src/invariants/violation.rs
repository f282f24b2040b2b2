//! A broken invariant: which, and what was found.

/// Which invariant is broken, and by what.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{number} broken: {what}")]
pub struct Violation {
    /// "I1" and so on.
    pub number: &'static str,
    /// What was found, with the keys needed to look at it.
    pub what: String,
}

/// `Ok` when the condition holds, else the violation that `what` describes.
pub(super) fn ensure(
    holds: bool,
    number: &'static str,
    what: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds {
        Ok(())
    } else {
        Err(Violation {
            number,
            what: what(),
        })
    }
}
