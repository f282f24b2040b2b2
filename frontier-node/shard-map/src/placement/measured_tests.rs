//! How much moves when nodes come and go, and how even it is then.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ring, evacuation, group_position, on_join};
use crate::{Body, ShardMap, command::Drain, testing::*};

const POSITIONS: u64 = 6_000;

fn counts(map: &ShardMap) -> BTreeMap<u32, usize> {
    let nodes = map.nodes.iter().map(|node| node.number);
    nodes.map(|node| (node, map.replicas_on(node))).collect()
}

fn total(map: &ShardMap) -> usize {
    counts(map).values().sum()
}

fn have_three_distinct(map: &ShardMap) -> bool {
    (0..map.next_shard).all(|group| {
        let nodes = nodes_of(map, group);
        nodes.len() == 3 && nodes.iter().collect::<BTreeSet<_>>().len() == 3
    })
}

#[test]
fn the_ring_alone_moves_one_nth_to_the_new_node_and_nothing_else() {
    for n in 2..=12u32 {
        let (before, after) = (Ring::new(1..n), Ring::new(1..=n));
        let mut moved = 0;
        for group in 0..POSITIONS {
            let (old, new) = (
                before.order(group_position(group)),
                after.order(group_position(group)),
            );
            if old[0] != new[0] {
                moved += 1;
                assert_eq!(new[0], n);
            }
            let others: Vec<u32> = new.into_iter().filter(|member| *member != n).collect();
            assert_eq!(old, others, "the old ones keep their order");
        }
        let share = POSITIONS / u64::from(n);
        assert!(
            (share * 7 / 10..=share * 13 / 10).contains(&moved),
            "node {n} took {moved}, its share is {share}"
        );
    }
}

#[test]
fn the_ring_alone_is_even_within_a_third() {
    for n in [3, 5, 10, 30u32] {
        let ring = Ring::new(1..=n);
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for group in 0..POSITIONS {
            for member in ring.order(group_position(group)).into_iter().take(3) {
                *counts.entry(member).or_default() += 1;
            }
        }
        let fair = POSITIONS * 3 / u64::from(n);
        let (least, most) = (
            counts.values().min().unwrap(),
            counts.values().max().unwrap(),
        );
        assert!(
            *least >= fair * 2 / 3 && *most <= fair * 4 / 3,
            "{n} nodes: {least} to {most}, fair is {fair}"
        );
    }
}

#[test]
fn places_are_the_same_on_every_machine_and_in_every_version() {
    let map = cluster(5, 8);
    let places: Vec<Vec<u32>> = (0..=8).map(|group| nodes_of(&map, group)).collect();
    let pinned = [
        [3, 4, 5],
        [2, 3, 4],
        [2, 4, 5],
        [1, 2, 3],
        [3, 4, 5],
        [3, 4, 5],
        [2, 3, 4],
        [1, 2, 5],
        [1, 2, 5],
    ];
    assert_eq!(places, pinned);
    let mut joined = map;
    run(&mut joined, joining(6, 0));
    let moves: Vec<_> = on_join(&joined, 6)
        .iter()
        .map(|m| (m.shard, m.from))
        .collect();
    assert_eq!(moves, [(3, 2), (4, 3), (7, 5), (8, 2)]);
}

#[test]
fn the_first_places_are_even() {
    for (nodes, shards) in [(3, 4), (4, 16), (5, 64), (7, 100), (30, 64)] {
        let map = cluster(nodes, shards);
        assert!(have_three_distinct(&map));
        let fair = total(&map).div_ceil(nodes as usize);
        let most = *counts(&map).values().max().unwrap();
        assert!(
            most <= fair + 1,
            "{nodes} nodes, {shards} shards: {most}, fair is {fair}"
        );
    }
}

#[test]
fn the_nth_node_takes_one_nth_and_the_rest_stays_even() {
    for shards in [8, 64, 256] {
        let mut map = cluster(3, shards);
        for n in 4..=12u32 {
            run(&mut map, joining(n, 0));
            let before: Vec<Vec<u32>> = (0..=shards).map(|g| nodes_of(&map, g)).collect();
            let moves = on_join(&map, n);
            let (share, moved) = (total(&map) as f64 / f64::from(n), moves.len() as f64);
            assert!(
                (share.floor()..=share.ceil()).contains(&moved),
                "{shards} shards: node {n} takes {moved} of a share of {share}"
            );
            carry_out(&mut map, moves);
            let stayed = (0..=shards).zip(&before).all(|(group, old)| {
                nodes_of(&map, group)
                    .iter()
                    .all(|node| *node == n || old.contains(node))
            });
            assert!(stayed, "a replica moved that the new node did not get");
            assert!(have_three_distinct(&map));
            assert!(
                on_join(&map, n).is_empty(),
                "asked again, nothing more moves"
            );
            let counts = counts(&map);
            let (least, most) = (
                counts.values().min().unwrap(),
                counts.values().max().unwrap(),
            );
            assert!(
                *most as f64 <= share * 1.2 + 1.0 && *least as f64 >= share * 0.8 - 1.0,
                "{shards} shards, {n} nodes: {least} to {most}, fair is {share}"
            );
        }
    }
}

#[test]
fn a_node_that_drains_gives_its_replicas_to_all_the_others() {
    let mut map = cluster(6, 64);
    let given = map.replicas_on(4);
    begin(&mut map, Body::Drain(Drain { node: 4 }));
    let before = counts(&map);
    let moves = evacuation(&map, 4, &BTreeMap::new(), &NOBODY, usize::MAX).moves;
    assert_eq!(moves.len(), given);
    carry_out(&mut map, moves);
    assert!(have_three_distinct(&map) && map.replicas_on(4) == 0);
    for (node, count) in counts(&map) {
        let fair = total(&map).div_ceil(5);
        assert!(
            node == 4 || (fair - 1..=fair).contains(&count),
            "{node} has {count} of {fair}"
        );
        assert!(node == 4 || count > before[&node], "{node} got nothing");
    }
}
