//! Shards that are too large or too busy, split by themselves; off unless asked for.

use std::collections::BTreeMap;

use futures::future::join_all;
use shard_map::{
    ShardMap,
    command::SplitShard,
    policy::{Measured, SplitRules, proposed_splits},
};

use super::shaper::Shaper;
use super::survey::Survey;

/// The splits that should begin now. A shard that does not say what it weighs, or has fewer than two sites, is left alone.
pub(super) async fn wanted(
    map: &ShardMap,
    survey: &Survey,
    rules: &SplitRules,
    shaper: &dyn Shaper,
) -> Vec<SplitShard> {
    if !rules.enabled {
        return Vec::new();
    }
    let loads = survey.loads();
    let load = |shard: u64| loads.get(&shard).copied().unwrap_or(0);
    let may_be_due = |shard: u64| rules.size_bytes > 0 || load(shard) > rules.load;
    let asked = map
        .shards
        .iter()
        .filter(|shard| map.job_of_shard(shard.id).is_none() && may_be_due(shard.id))
        .map(|shard| async move {
            let weight = shaper.weigh(shard.id).await.ok()?;
            let middle = Some(weight.middle?);
            let measured = Measured {
                size_bytes: weight.size_bytes,
                load: load(shard.id),
                middle,
                heaviest: None,
            };
            Some((shard.id, measured))
        });
    let measured: BTreeMap<u64, Measured> = join_all(asked).await.into_iter().flatten().collect();
    proposed_splits(map, &measured, rules)
}
