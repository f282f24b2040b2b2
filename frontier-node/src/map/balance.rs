//! Who should lead what: wishes and nodes that take no replicas at once, evenness only after a while.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use shard_map::{
    Plan, ShardMap,
    policy::{BalanceRules, Transfer, wanted_transfers},
};

use super::rules::ShapeRules;
use super::survey::Survey;

/// Since when leaders are uneven.
#[derive(Debug, Default)]
pub(super) struct Balance {
    uneven_since: Option<Instant>,
}

impl Balance {
    /// The hand-overs to be made now. Groups whose replicas are being moved are left alone: their move hands over by itself.
    pub(super) fn wanted(
        &mut self,
        map: &ShardMap,
        survey: &Survey,
        rules: &ShapeRules,
        now: Instant,
    ) -> Vec<Transfer> {
        let is_moving = |group: &u64| {
            let job = map.job_of_shard(*group);
            job.is_some_and(|job| matches!(job.plan, Some(Plan::Move(_))))
        };
        let leading: BTreeMap<u64, u32> = survey
            .leading()
            .into_iter()
            .filter(|(group, _)| !is_moving(group))
            .collect();
        let down = survey.down();
        let with = |transfers: usize| {
            let rules = BalanceRules {
                transfers,
                ..rules.balance
            };
            wanted_transfers(map, &leading, survey.loads(), &down, &rules)
        };
        let (must, all) = (with(0), with(rules.balance.transfers));
        // While a node is silent its leaders are elsewhere, and it will be back.
        if all.len() == must.len() || !down.is_empty() {
            self.uneven_since = None;
            return must;
        }
        let since = *self.uneven_since.get_or_insert(now);
        if now.duration_since(since) < Duration::from_millis(rules.balance_patience_ms) {
            return must;
        }
        self.uneven_since = None;
        all
    }
}
