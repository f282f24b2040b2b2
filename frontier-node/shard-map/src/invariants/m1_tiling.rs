//! M1: the shards' ranges tile 0 to 2^64 - 1 without gap or overlap (P3), under numbers that were issued.

use std::collections::BTreeSet;

use super::{Broken, ensure};
use crate::model::{GROUP_ZERO, ShardMap};

const NUMBER: &str = "M1";

pub(super) fn check(map: &ShardMap) -> Result<(), Broken> {
    let ends = (
        map.shards.first().map(|s| s.first),
        map.shards.last().map(|s| s.last),
    );
    ensure(ends == (Some(0), Some(u64::MAX)), NUMBER, || {
        format!("the ranges go from {:?} to {:?}", ends.0, ends.1)
    })?;
    for shard in &map.shards {
        ensure(shard.first <= shard.last, NUMBER, || {
            format!("shard {} is empty", shard.id)
        })?;
        let is_issued = shard.id != GROUP_ZERO && shard.id < map.next_shard;
        ensure(is_issued, NUMBER, || {
            format!("shard {} was never issued", shard.id)
        })?;
    }
    for pair in map.shards.windows(2) {
        ensure(
            pair[0].last.checked_add(1) == Some(pair[1].first),
            NUMBER,
            || {
                let (left, right) = (pair[0].id, pair[1].id);
                format!("shard {right} does not begin where shard {left} ends")
            },
        )?;
    }
    let ids: BTreeSet<u64> = map.shards.iter().map(|s| s.id).collect();
    ensure(ids.len() == map.shards.len(), NUMBER, || {
        "two shards have one number".to_owned()
    })
}
