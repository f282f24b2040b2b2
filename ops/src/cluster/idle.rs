//! Whether a crawl has anything left to do, and what.

use proto::frontier_v1::{ConservationTerms, ShardStatusResponse};
use std::fmt;
use std::time::Duration;

/// What keeps a crawl from its end, all shards together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Pages waiting.
    pub queued: u64,
    /// Leases out, of every kind.
    pub leased: u64,
    /// Links waiting for their owner.
    pub outbox: u64,
    /// Until something becomes ready, ms; `u64::MAX`: nothing waits for time.
    pub next_ready_in_ms: u64,
}

impl Left {
    /// Whether something waits of which a host becomes ready within this time.
    pub fn may_lease(&self, within: Duration) -> bool {
        self.queued > 0 && u128::from(self.next_ready_in_ms) <= within.as_millis()
    }

    /// Whether nothing goes on, and nothing becomes ready within the patience: what is queued waits for a host out of reach.
    pub fn is_idle(&self, patience: Duration) -> bool {
        let patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        self.leased == 0
            && self.outbox == 0
            && (self.queued == 0 || self.next_ready_in_ms > patience_ms)
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} queued, {} leased, {} links undelivered, ",
            self.queued, self.leased, self.outbox
        )?;
        match self.next_ready_in_ms {
            u64::MAX => f.write_str("nothing waits for time"),
            ms => write!(f, "next host ready in {ms} ms"),
        }
    }
}

/// What the newest statuses of all shards leave.
pub fn left(statuses: &[ShardStatusResponse]) -> Left {
    let terms = || statuses.iter().filter_map(|status| status.terms.as_ref());
    let ready = || statuses.iter().filter_map(|status| status.ready.as_ref());
    Left {
        queued: terms().map(|terms| terms.queued + terms.scheduled).sum(),
        leased: ready().map(|ready| ready.leased).sum(),
        outbox: statuses.iter().map(|status| status.outbox_waiting).sum(),
        next_ready_in_ms: statuses
            .iter()
            .map(|status| status.next_ready_in_ms)
            .min()
            .unwrap_or(u64::MAX),
    }
}

/// The conservation terms of all shards together.
pub fn sum_of_terms(statuses: &[ShardStatusResponse]) -> ConservationTerms {
    let mut sum = ConservationTerms::default();
    for terms in statuses.iter().filter_map(|status| status.terms.as_ref()) {
        sum.accepted += terms.accepted;
        sum.queued += terms.queued;
        sum.scheduled += terms.scheduled;
        sum.leased += terms.leased;
        sum.done += terms.done;
        sum.removed += terms.removed;
        sum.refused += terms.refused;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::frontier_v1::ReadySummary;

    fn shard(queued: u64, leased: u64, next_ready_in_ms: u64) -> ShardStatusResponse {
        ShardStatusResponse {
            terms: Some(ConservationTerms {
                queued,
                ..ConservationTerms::default()
            }),
            ready: Some(ReadySummary {
                leased,
                ..ReadySummary::default()
            }),
            next_ready_in_ms,
            ..ShardStatusResponse::default()
        }
    }

    #[test]
    fn a_crawl_is_idle_when_all_shards_are() {
        let patience = Duration::from_secs(6);
        let done = || shard(0, 0, u64::MAX);
        assert!(left(&[done(), done()]).is_idle(patience));
        assert!(!left(&[done(), shard(0, 1, u64::MAX)]).is_idle(patience));
        assert!(!left(&[done(), shard(3, 0, 2_000)]).is_idle(patience));
        assert!(
            left(&[done(), shard(3, 0, 60_000)]).is_idle(patience),
            "behind robots out of reach"
        );
        let undelivered = ShardStatusResponse {
            outbox_waiting: 1,
            ..done()
        };
        assert!(!left(&[undelivered]).is_idle(patience));
    }

    #[test]
    fn what_is_left_is_told() {
        let text = left(&[shard(3, 1, 400), shard(2, 0, u64::MAX)]).to_string();
        assert_eq!(
            text,
            "5 queued, 1 leased, 0 links undelivered, next host ready in 400 ms"
        );
    }

    #[test]
    fn terms_are_summed_each_for_itself() {
        let terms = ConservationTerms {
            accepted: 21,
            queued: 1,
            scheduled: 2,
            leased: 3,
            done: 4,
            removed: 5,
            refused: 6,
        };
        let status = ShardStatusResponse {
            terms: Some(terms),
            ..ShardStatusResponse::default()
        };
        let sum = sum_of_terms(&[status.clone(), ShardStatusResponse::default(), status]);
        let twice = ConservationTerms {
            accepted: 42,
            queued: 2,
            scheduled: 4,
            leased: 6,
            done: 8,
            removed: 10,
            refused: 12,
        };
        assert_eq!(sum, twice);
    }

    #[test]
    fn a_shard_may_lease_when_something_that_waits_is_ready_in_time() {
        let within = Duration::from_secs(30);
        let may_lease = |shard: ShardStatusResponse| left(&[shard]).may_lease(within);
        assert!(may_lease(shard(1, 0, 0)));
        assert!(may_lease(shard(1, 0, 30_000)));
        assert!(!may_lease(shard(1, 0, 30_001)), "later than asked");
        assert!(!may_lease(shard(1, 0, u64::MAX)), "nothing waits for time");
        assert!(!may_lease(shard(0, 1, 0)), "all that is left is leased");
    }
}
