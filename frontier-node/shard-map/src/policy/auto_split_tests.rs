//! What is split by itself, and where.

use std::collections::BTreeMap;

use super::{Measured, SplitRules, proposed_splits};
use crate::{Body, ShardMap, testing::*};

const ON: SplitRules = SplitRules {
    enabled: true,
    size_bytes: 1_000,
    load: 100,
    at_once: 2,
};

fn sized(size_bytes: u64) -> Measured {
    Measured {
        size_bytes,
        ..Measured::default()
    }
}

fn shards(map: &ShardMap, measured: &BTreeMap<u64, Measured>, rules: &SplitRules) -> Vec<u64> {
    let splits = proposed_splits(map, measured, rules);
    splits.iter().map(|split| split.shard).collect()
}

#[test]
fn it_is_off_by_default_and_a_threshold_of_zero_is_none() {
    let map = cluster(3, 2);
    let measured = BTreeMap::from([(1, sized(u64::MAX))]);
    assert_eq!(shards(&map, &measured, &SplitRules::default()), []);
    let none = SplitRules {
        size_bytes: 0,
        ..ON
    };
    assert_eq!(shards(&map, &measured, &none), []);
    assert_eq!(shards(&map, &measured, &ON), [1]);
}

#[test]
fn the_worst_come_first_and_no_more_than_may_be_under_way() {
    let mut map = cluster(3, 4);
    let busy = Measured {
        load: 900,
        ..Measured::default()
    };
    let measured = BTreeMap::from([
        (1, sized(1_001)),
        (2, sized(5_000)),
        (3, busy),
        (4, sized(1_000)),
    ]);
    assert_eq!(shards(&map, &measured, &ON), [3, 2]);
    let body = splitting(&map, 3, u64::MAX / 4 * 3);
    begin(&mut map, body);
    assert_eq!(shards(&map, &measured, &ON), [2], "one is under way");
}

#[test]
fn the_cut_is_the_middle_of_the_load_where_it_is_known_and_fits() {
    let map = cluster(3, 2);
    let cut = |found: Measured| {
        let split = proposed_splits(&map, &BTreeMap::from([(2, found)]), &ON)[0];
        (split.at, split.alone)
    };
    let shard = map.shard(2).unwrap();
    let big = sized(2_000);
    let at = |middle| Measured {
        middle: Some(middle),
        ..big
    };
    assert_eq!(cut(at(shard.first + 9)), (shard.first + 9, false));
    let middle_of_range = shard.first + (1 << 62);
    assert_eq!(cut(big), (middle_of_range, false));
    assert_eq!(
        cut(at(shard.first)),
        (middle_of_range, false),
        "the parent keeps something"
    );
    let heavy = |part| Measured {
        heaviest: Some((shard.first + 5, part)),
        ..at(shard.first + 9)
    };
    assert_eq!(cut(heavy(49)), (shard.first + 9, false));
    assert_eq!(cut(heavy(50)), (shard.first + 5, true));
}

#[test]
fn what_is_proposed_is_accepted_until_one_site_is_left() {
    let mut map = cluster(3, 1);
    let site = 77;
    for _ in 0..4 {
        let found = Measured {
            load: 1_000,
            heaviest: Some((site, 100)),
            ..Measured::default()
        };
        let owner = map.owner(site).unwrap().id;
        for split in proposed_splits(&map, &BTreeMap::from([(owner, found)]), &ON) {
            let job = begin(&mut map, Body::SplitShard(split));
            finish(&mut map, job);
        }
        // The second cut of a site in the middle.
        let second: Vec<u64> = map.running_jobs().map(|job| job.id).collect();
        for job in second {
            finish(&mut map, job);
        }
    }
    let owner = map.owner(site).unwrap();
    assert_eq!((owner.first, owner.last, map.shards.len()), (site, site, 3));
}
