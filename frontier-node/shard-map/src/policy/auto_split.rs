//! Shards that are too large or too busy are split; off unless asked for.

use std::collections::BTreeMap;

use crate::{
    command::SplitShard,
    limits,
    model::{Plan, Shard, ShardMap},
};

/// When shards are split by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitRules {
    /// Off by default: a split is cheap, but it is not taken back.
    pub enabled: bool,
    /// A shard with more rows than that is split, bytes; 0: never for that.
    pub size_bytes: u64,
    /// A shard with more load than that is split, in the unit of [`Measured::load`]; 0: never for that.
    pub load: u64,
    /// Splits under way at the same moment.
    pub at_once: usize,
}

/// What was measured of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Its rows, bytes.
    pub size_bytes: u64,
    /// Its work, in any one unit.
    pub load: u64,
    /// The hash below which half of the work is; `None`: not known.
    pub middle: Option<u64>,
    /// The site with the most work: its hash, and its part of the shard's, percent.
    pub heaviest: Option<(u64, u64)>,
}

/// From this part of a shard's work on, a site gets a shard of its own, percent: the middle of the load would be the
/// site itself.
const HEAVY_PERCENT: u64 = 50;

/// The splits that should begin now, what is furthest above its threshold first.
#[must_use]
pub fn proposed_splits(
    map: &ShardMap,
    measured: &BTreeMap<u64, Measured>,
    rules: &SplitRules,
) -> Vec<SplitShard> {
    if !rules.enabled {
        return Vec::new();
    }
    let is_split = |plan: &Option<Plan>| matches!(plan, Some(Plan::Split(_)));
    let under_way = map.running_jobs().filter(|job| is_split(&job.plan)).count();
    let room = rules.at_once.saturating_sub(under_way);
    let room = room.min(limits::SHARDS.saturating_sub(map.shards.len() + under_way));
    let mut due: Vec<(u128, SplitShard)> = map
        .shards
        .iter()
        .filter(|shard| map.job_of_shard(shard.id).is_none())
        .filter_map(|shard| {
            let found = measured.get(&shard.id)?;
            let excess = excess(found, rules);
            (excess > ONE).then(|| Some((excess, cut(shard, found)?)))?
        })
        .collect();
    due.sort_by_key(|(excess, split)| (std::cmp::Reverse(*excess), split.shard));
    due.into_iter().take(room).map(|(_, split)| split).collect()
}

/// As much as a threshold.
const ONE: u128 = 1 << 32;

/// How many times its threshold a shard is, in parts of [`ONE`].
fn excess(found: &Measured, rules: &SplitRules) -> u128 {
    let times = |value: u64, threshold: u64| match threshold {
        0 => 0,
        _ => u128::from(value) * ONE / u128::from(threshold),
    };
    times(found.size_bytes, rules.size_bytes).max(times(found.load, rules.load))
}

/// Where to cut; `None`: it is one site, which one shard owns whatever it weighs.
fn cut(shard: &Shard, found: &Measured) -> Option<SplitShard> {
    if shard.first == shard.last {
        return None;
    }
    let split = |at: u64, alone: bool| SplitShard {
        shard: shard.id,
        epoch: shard.members.epoch,
        at,
        alone,
    };
    let heaviest = found.heaviest.filter(|(site, _)| shard.holds(*site));
    if let Some((site, _)) = heaviest.filter(|(_, part)| *part >= HEAVY_PERCENT) {
        return Some(split(site, true));
    }
    let middle_of_range = shard.first + (shard.last - shard.first).div_ceil(2);
    let middle = found.middle.filter(|at| shard.splits_at(*at));
    Some(split(middle.unwrap_or(middle_of_range), false))
}
