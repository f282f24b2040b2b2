//! Who is asked to hand over, and that a load which wavers moves nobody.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{BalanceRules, Transfer, wanted_transfers};
use crate::{
    Body, ShardMap,
    command::{Drain, WishLeader},
    testing::*,
};

const RULES: BalanceRules = BalanceRules {
    start_percent: 30,
    stop_percent: 10,
    gain_percent: 5,
    transfers: 100,
};

type Leading = BTreeMap<u64, u32>;

fn after(leading: &Leading, transfers: &[Transfer]) -> Leading {
    let mut leading = leading.clone();
    for transfer in transfers {
        let from = leading.insert(transfer.shard, transfer.to);
        assert_eq!(from, Some(transfer.from));
    }
    leading
}

fn sums(map: &ShardMap, leading: &Leading, loads: &BTreeMap<u64, u64>) -> Vec<u64> {
    let sum = |node: u32| {
        let led = leading.iter().filter(|(_, leader)| **leader == node);
        led.map(|(group, _)| loads.get(group).copied().unwrap_or(1))
            .sum()
    };
    map.nodes.iter().map(|node| sum(node.number)).collect()
}

/// Everything is led by node 1.
fn lopsided(map: &ShardMap) -> Leading {
    map.shards.iter().map(|shard| (shard.id, 1)).collect()
}

#[test]
fn without_load_leaders_are_spread_by_number() {
    let map = cluster(3, 9);
    let leading = lopsided(&map);
    let transfers = wanted_transfers(&map, &leading, &BTreeMap::new(), &NOBODY, &RULES);
    let leading = after(&leading, &transfers);
    assert_eq!(sums(&map, &leading, &BTreeMap::new()), [3, 3, 3]);
    assert_eq!(
        wanted_transfers(&map, &leading, &BTreeMap::new(), &NOBODY, &RULES),
        []
    );
    let few = BalanceRules {
        transfers: 2,
        ..RULES
    };
    let transfers = wanted_transfers(&map, &lopsided(&map), &BTreeMap::new(), &NOBODY, &few);
    assert_eq!(transfers.len(), 2);
}

#[test]
fn a_node_little_above_the_mean_moves_nobody_and_one_well_above_moves_until_it_is_near() {
    let map = cluster(3, 60);
    let spread = |first: u64| -> Leading {
        (1..=60)
            .map(|s| {
                (
                    s,
                    if s <= first {
                        1
                    } else {
                        2 + u32::from(s % 2 == 0)
                    },
                )
            })
            .collect()
    };
    for (first, moves) in [(20, false), (25, false), (28, true), (40, true)] {
        let leading = spread(first);
        let transfers = wanted_transfers(&map, &leading, &BTreeMap::new(), &NOBODY, &RULES);
        assert_eq!(!transfers.is_empty(), moves, "{first} of 60");
        let most = *sums(&map, &after(&leading, &transfers), &BTreeMap::new())
            .iter()
            .max()
            .unwrap();
        assert!(!moves || most <= 22, "{first} of 60: {most} after it");
    }
}

#[test]
fn wishes_and_draining_nodes_come_before_balance() {
    let mut map = cluster(4, 8);
    let leading: Leading = map
        .groups()
        .map(|(group, _)| (group, nodes_of(&map, group)[0]))
        .collect();
    let to = nodes_of(&map, 5)[2];
    run(
        &mut map,
        Body::WishLeader(WishLeader { shard: 5, node: to }),
    );
    begin(&mut map, Body::Drain(Drain { node: 1 }));
    let none = BalanceRules {
        transfers: 0,
        ..RULES
    };
    let transfers = wanted_transfers(&map, &leading, &BTreeMap::new(), &NOBODY, &none);
    assert!(transfers.iter().any(|t| (t.shard, t.to) == (5, to)));
    let leading = after(&leading, &transfers);
    assert!(leading.values().all(|node| *node != 1));
    for (group, node) in &leading {
        assert!(nodes_of(&map, *group).contains(node));
    }
    let loads = BTreeMap::from([(5, 1_000)]);
    let again = wanted_transfers(&map, &leading, &loads, &NOBODY, &RULES);
    assert!(
        again.iter().all(|t| t.shard != 5),
        "a wish is not balanced away"
    );
}

#[test]
fn a_leader_that_nobody_knows_is_left_alone() {
    let map = cluster(3, 3);
    assert_eq!(
        wanted_transfers(&map, &Leading::new(), &BTreeMap::new(), &NOBODY, &RULES),
        []
    );
    assert_eq!(
        wanted_transfers(
            &ShardMap::default(),
            &Leading::new(),
            &BTreeMap::new(),
            &NOBODY,
            &RULES
        ),
        []
    );
}

proptest! {
    #[test]
    fn balance_comes_to_rest_and_stays_while_loads_waver(
        loads in prop::collection::vec(0..1_000u64, 24),
        leaders in prop::collection::vec(0..3usize, 24),
        waver in prop::collection::vec(95..106u64, 24),
    ) {
        let map = cluster(5, 24);
        let loads: BTreeMap<u64, u64> = (1..).zip(loads).collect();
        let mut leading: Leading = (1..).zip(leaders).map(|(s, at)| (s, nodes_of(&map, s)[at])).collect();
        let max = |leading: &Leading| *sums(&map, leading, &loads).iter().max().unwrap();
        let mut rounds = 0;
        loop {
            let transfers = wanted_transfers(&map, &leading, &loads, &NOBODY, &BalanceRules::default());
            if transfers.is_empty() {
                break;
            }
            let next = after(&leading, &transfers);
            prop_assert!(max(&next) <= max(&leading) + loads.values().max().unwrap() / 8);
            leading = next;
            rounds += 1;
            prop_assert!(rounds < 20, "it never rests");
        }
        let mean = loads.values().sum::<u64>() / 5;
        if max(&leading) * 100 <= mean * 120 {
            let wavering: BTreeMap<u64, u64> =
                loads.iter().zip(waver).map(|((s, load), part)| (*s, load * part / 100)).collect();
            prop_assert_eq!(wanted_transfers(&map, &leading, &wavering, &NOBODY, &BalanceRules::default()), []);
        }
    }
}
