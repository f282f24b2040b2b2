//! How the free slots are shared out among shards: capacity goes where the best ready work is.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use proto::frontier_v1 as pb;

use crate::limits::MAX_LEASES_A_CALL;

/// What each shard said last of its ready hosts.
#[derive(Debug, Default)]
pub(crate) struct Balance(Mutex<BTreeMap<u64, Vec<u64>>>);

impl Balance {
    /// A shard's newest summary.
    pub(crate) fn heard(&self, shard: u64, summary: Option<&pb::ReadySummary>) {
        let by_class = summary
            .map(|summary| summary.by_class.clone())
            .unwrap_or_default();
        self.0.lock().insert(shard, by_class);
    }

    /// The shard is gone.
    pub(crate) fn forget(&self, shard: u64) {
        self.0.lock().remove(&shard);
    }

    /// How many leases to ask this shard for, with so many slots free: its part of the best class that is ready anywhere,
    /// and of the classes below as long as slots are left. One if slots are left over, so that what becomes ready is heard
    /// of; none if others have better work for all of them. A shard that has not spoken yet is asked for a few.
    pub(crate) fn ask(&self, shard: u64, free: usize) -> u32 {
        const STRANGER: u64 = 8;
        let shards = self.0.lock();
        let Some(own) = shards.get(&shard) else {
            return bounded(STRANGER.min(free as u64));
        };
        let classes = shards.values().map(Vec::len).max().unwrap_or(0);
        let (mut left, mut ask) = (free as u64, 0_u64);
        for class in 0..classes {
            let of = |by_class: &Vec<u64>| by_class.get(class).copied().unwrap_or(0);
            let all = shards
                .values()
                .fold(0_u64, |sum, by_class| sum.saturating_add(of(by_class)));
            if all == 0 {
                continue;
            }
            let part = if all <= left {
                of(own)
            } else {
                (u128::from(of(own)) * u128::from(left)).div_ceil(u128::from(all)) as u64
            };
            ask = ask.saturating_add(part);
            left = left.saturating_sub(all);
        }
        if ask == 0 && left == 0 {
            return 0;
        }
        bounded(ask.min(free as u64))
    }
}

fn bounded(ask: u64) -> u32 {
    u32::try_from(ask)
        .unwrap_or(MAX_LEASES_A_CALL)
        .clamp(1, MAX_LEASES_A_CALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(shards: &[(u64, &[u64])]) -> Balance {
        let balance = Balance::default();
        for (shard, by_class) in shards {
            balance.heard(
                *shard,
                Some(&pb::ReadySummary {
                    by_class: by_class.to_vec(),
                    ..Default::default()
                }),
            );
        }
        balance
    }

    #[test]
    fn the_best_class_goes_first_wherever_it_is() {
        let balance = balance(&[(1, &[300, 0]), (2, &[0, 500])]);
        assert_eq!(balance.ask(1, 100), 100);
        assert_eq!(balance.ask(2, 100), 0);
        // Enough for all of the first class: the second gets the rest.
        assert_eq!(balance.ask(2, 400), 100);
    }

    #[test]
    fn equal_work_is_shared_in_proportion() {
        let balance = balance(&[(1, &[30]), (2, &[90])]);
        assert_eq!((balance.ask(1, 40), balance.ask(2, 40)), (10, 30));
        assert_eq!((balance.ask(1, 1_000), balance.ask(2, 1_000)), (30, 90));
    }

    #[test]
    fn idle_and_unknown_shards_are_heard_of() {
        let balance = balance(&[(1, &[0, 0]), (2, &[])]);
        assert_eq!(
            (
                balance.ask(1, 50),
                balance.ask(2, 50),
                balance.ask(3, 50),
                balance.ask(3, 2)
            ),
            (1, 1, 8, 2)
        );
        balance.forget(1);
        assert_eq!(balance.ask(1, 50), 8);
    }

    /// With one slot free it goes to the best class, wherever that is.
    #[test]
    fn a_single_slot_goes_to_the_best() {
        let balance = balance(&[(1, &[0, 9]), (2, &[5, 0]), (3, &[0, 0])]);
        assert_eq!(
            (balance.ask(1, 1), balance.ask(2, 1), balance.ask(3, 1)),
            (0, 1, 0)
        );
        balance.forget(2);
        assert_eq!((balance.ask(1, 1), balance.ask(3, 1)), (1, 0));
    }

    #[test]
    fn nothing_overflows() {
        let balance = balance(&[(1, &[u64::MAX, u64::MAX]), (2, &[u64::MAX])]);
        assert_eq!(balance.ask(1, 10_000), MAX_LEASES_A_CALL);
    }
}
