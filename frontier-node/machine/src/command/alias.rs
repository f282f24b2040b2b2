//! `alias`: one host is folded into another. URLs of the host go to the other name from then on, and nothing of it is fetched.
//!
//! | what | becomes |
//! |---|---|
//! | a new URL of the host | answered with the URL at the other host; whoever offered it offers that to its owner |
//! | a queued or scheduled URL | moved, a bounded slice an entry: removed here with the reason `aliased` and its new URL, and an outbox row for the new owner |
//! | a leased URL | ends as its report says; if it comes back to the queue or schedule, it moves from there |
//! | a URL that had ended, and one that was seen | stays as it is |
//! | errands of other hosts' robots files | are done: they are asked of this very host |
//!
//! Moves stop while the outbox is full and go on by themselves. The books: accepted stays, what moved counts as removed here and as
//! entered in the outbox ([`crate::Counter::AliasMoved`]), and as accepted (or known, or refused) at its new owner. Visits, change
//! statistics and validators do not travel: the other host's answer is another one.

mod apply;
mod moves;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

pub(crate) use apply::moved;

/// Folds a host into another, or ends that.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Alias {
    /// Canonical host name.
    #[prost(string, tag = "1")]
    pub host: String,
    /// Partition hash of its site.
    #[prost(fixed64, tag = "2")]
    pub partition: u64,
    /// Canonical name of the other host; empty: none any more.
    #[prost(string, tag = "3")]
    pub to: String,
    /// Partition hash of the other host's site.
    #[prost(fixed64, tag = "4")]
    pub to_partition: u64,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AliasReply {
    /// URLs of the host that are queued or scheduled now.
    pub waiting: u64,
    /// Empty, or why nothing was done.
    pub refused: &'static str,
}
