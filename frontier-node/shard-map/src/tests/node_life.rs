//! Nodes come, are emptied, die, go, and come back.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Body, Fate, NodeState, ReplicaId, ShardMap, Step,
    command::{CancelJob, Drain, Leave, Replace, Undrain, WishLeader},
    placement,
    testing::*,
};

const AT_ONCE: usize = 2;

/// Drives the moves of an emptying until it ends by itself.
fn empty(map: &mut ShardMap, node: u32) {
    let mut rounds = 0;
    while map.job_of_node(node).is_some() {
        let next = placement::evacuation(map, node, &BTreeMap::new(), &NOBODY, AT_ONCE);
        assert!(!next.moves.is_empty() && next.moves.len() <= AT_ONCE);
        carry_out(map, next.moves);
        rounds += 1;
        assert!(rounds < 1_000, "it never ends");
    }
}

#[test]
fn a_drain_ends_when_the_node_is_empty_and_then_it_may_leave() {
    let mut map = cluster(4, 8);
    let job = begin(&mut map, Body::Drain(Drain { node: 2 }));
    assert_eq!(map.node(2).unwrap().state(), NodeState::Draining);
    empty(&mut map, 2);
    assert_eq!(map.job(job).unwrap().step(), Step::Done);
    assert_eq!(
        (map.replicas_on(2), map.node(2).unwrap().state()),
        (0, NodeState::Draining)
    );
    assert!(
        map.groups()
            .all(|(_, members)| members.voters().count() == 3)
    );
    run(&mut map, Body::Leave(Leave { node: 2 }));
    assert_eq!(map.node(2).unwrap().state(), NodeState::Gone);
    assert!(!run(&mut map, Body::Leave(Leave { node: 2 })).changed);
    // Only a new disk brings the place back.
    run(&mut map, joining(2, 1));
    assert_eq!(map.node(2).unwrap().state(), NodeState::Up);
}

#[test]
fn a_drain_hands_leaderships_over_before_it_moves_what_was_led() {
    let mut map = cluster(4, 8);
    begin(&mut map, Body::Drain(Drain { node: 1 }));
    let groups = map.groups();
    let has_it: Vec<u64> = groups
        .filter(|(_, m)| m.is_on(1))
        .map(|(group, _)| group)
        .collect();
    let led: BTreeMap<u64, u32> = has_it[..2].iter().map(|group| (*group, 1)).collect();
    let next = placement::evacuation(&map, 1, &led, &NOBODY, 100);
    let handed: Vec<u64> = next.transfers.iter().map(|t| t.shard).collect();
    assert_eq!(handed, has_it[..2]);
    assert!(
        next.transfers
            .iter()
            .all(|t| t.from == 1 && nodes_of(&map, t.shard).contains(&t.to))
    );
    let moved: Vec<u64> = next.moves.iter().map(|m| m.shard).collect();
    assert_eq!(moved, has_it[2..]);
    let nobody = placement::evacuation(&map, 2, &led, &NOBODY, 100);
    assert_eq!(
        nobody,
        placement::Evacuate::default(),
        "node 2 is not emptied"
    );
}

#[test]
fn an_undrained_node_takes_part_again_and_its_job_says_that_it_was_undone() {
    let mut map = cluster(4, 8);
    let job = begin(&mut map, Body::Drain(Drain { node: 1 }));
    let next = placement::evacuation(&map, 1, &BTreeMap::new(), &NOBODY, 1);
    let moved = begin(&mut map, Body::MoveReplica(next.moves[0]));
    run(&mut map, Body::Undrain(Undrain { node: 1 }));
    assert_eq!(map.job(job).unwrap().step(), Step::Undone);
    assert_eq!(map.node(1).unwrap().state(), NodeState::Up);
    assert_eq!(
        finish(&mut map, moved),
        Step::Done,
        "what is under way goes on"
    );
    assert!(!run(&mut map, Body::Undrain(Undrain { node: 1 })).changed);
    let job = begin(&mut map, Body::Drain(Drain { node: 1 }));
    run(
        &mut map,
        Body::CancelJob(CancelJob {
            job,
            ..CancelJob::default()
        }),
    );
    assert_eq!(
        map.node(1).unwrap().state(),
        NodeState::Up,
        "cancelling is undraining"
    );
}

#[test]
fn a_replaced_node_is_gone_and_its_disk_does_not_come_back() {
    let mut map = cluster(4, 8);
    let job = begin(&mut map, Body::Replace(Replace { node: 3 }));
    empty(&mut map, 3);
    assert_eq!(map.job(job).unwrap().step(), Step::Done);
    assert_eq!(map.node(3).unwrap().state(), NodeState::Gone);
    refused(&map, joining(3, 0));
    let had: Vec<u64> = (1..=8)
        .filter(|s| map.fate(*s, ReplicaId(3)) == Fate::Retired)
        .collect();
    assert!(!had.is_empty(), "it learns that its replicas are dead");
}

#[test]
fn a_node_that_comes_back_with_a_new_disk_is_not_given_up_and_gets_its_replicas_again() {
    let mut map = cluster(3, 4);
    run(&mut map, joining(4, 0));
    let job = begin(&mut map, Body::Replace(Replace { node: 3 }));
    run(&mut map, joining(3, 1));
    assert_eq!(map.job(job).unwrap().step(), Step::Undone);
    assert_eq!(map.node(3).unwrap().state(), NodeState::Up);
    carry_out_repairs(&mut map);
    for (group, members) in map.groups() {
        if members.is_on(3) {
            assert_eq!(
                members.voter_on(3),
                Some(ReplicaId::new(3, 1, 0)),
                "group {group}"
            );
        }
        assert_eq!(map.fate(group, ReplicaId::new(3, 0, 0)), Fate::Retired);
    }
}

fn carry_out_repairs(map: &mut ShardMap) {
    for _ in 0..10 {
        let moves = placement::repairs(map, &NOBODY);
        carry_out(map, moves);
    }
    assert_eq!(placement::repairs(map, &NOBODY), Vec::new());
}

#[test]
fn a_cluster_of_one_grows_to_three_voters_as_nodes_join() {
    let mut map = cluster(1, 4);
    assert_eq!(placement::repairs(&map, &NOBODY), Vec::new());
    for number in 2..=4 {
        run(&mut map, joining(number, 0));
        carry_out_repairs(&mut map);
        let voters = number.min(3) as usize;
        assert!(
            map.groups()
                .all(|(_, members)| members.voters().count() == voters)
        );
    }
    assert!(
        map.replicas_on(4) == 0,
        "the ring's share is proposed by on_join"
    );
}

#[test]
fn a_node_that_moves_to_another_address_is_the_same() {
    let mut map = cluster(3, 1);
    let Body::Join(mut join) = joining(2, 0) else {
        panic!("not a join");
    };
    join.node.address = "elsewhere:1".to_owned();
    assert!(run(&mut map, Body::Join(join.clone())).changed);
    assert!(!run(&mut map, Body::Join(join)).changed);
    assert_eq!(map.node(2).unwrap().address, "elsewhere:1");
    assert_eq!(nodes_of(&map, 1), [1, 2, 3]);
}

#[test]
fn a_wish_ends_with_the_replica() {
    let mut map = cluster(4, 1);
    let on = nodes_of(&map, 1);
    let to = (1..=4).find(|n| !on.contains(n)).unwrap();
    run(
        &mut map,
        Body::WishLeader(WishLeader {
            shard: 1,
            node: on[0],
        }),
    );
    assert_eq!(map.members(1).unwrap().wished_leader, on[0]);
    let body = moving(&map, 1, on[0], to);
    let job = begin(&mut map, body);
    finish(&mut map, job);
    assert_eq!(map.members(1).unwrap().wished_leader, 0);
}

#[test]
fn nothing_is_moved_to_a_node_that_does_not_answer() {
    let mut map = cluster(6, 16);
    begin(&mut map, Body::Replace(Replace { node: 3 }));
    let down = BTreeSet::from([3, 5]);
    let moves = placement::evacuation(&map, 3, &BTreeMap::new(), &down, 100).moves;
    assert!(!moves.is_empty() && moves.iter().all(|moved| moved.to != 5));
    run(&mut map, joining(5, 1));
    let repairs = placement::repairs(&map, &down);
    assert_eq!(repairs, [], "its new disk waits until it answers");
    assert!(!placement::repairs(&map, &NOBODY).is_empty());
}
