//! Groups that lost their quorum for good: the map follows, and repairs find what is missing.

use crate::{
    Body, Refusal, ReplicaId,
    command::{MoveReplica, RecoverGroup, Replace},
    model::Step,
    placement::repairs,
    testing::{NOBODY, cluster, refused, run},
};

fn recover(group: u64, replica: ReplicaId) -> Body {
    Body::RecoverGroup(RecoverGroup {
        group,
        replica: replica.0,
    })
}

#[test]
fn one_voter_is_left_and_repairs_find_two_more() {
    let mut map = cluster(5, 2);
    let before = map.members(1).unwrap().clone();
    let survivor = before.voters().next().unwrap().replica_id();
    let next = ReplicaId::new(survivor.node(), 0, 256);
    assert!(run(&mut map, recover(1, next)).changed);
    let members = map.members(1).unwrap();
    assert_eq!(members.epoch, before.epoch + 1);
    assert_eq!(members.voters().map(|r| r.id).collect::<Vec<_>>(), [next.0]);
    assert!(!run(&mut map, recover(1, next)).changed);
    let lost: Vec<u32> = before.voters().map(|r| r.node()).collect();
    for node in lost.iter().filter(|node| **node != survivor.node()) {
        run(&mut map, Body::Replace(Replace { node: *node }));
    }
    let missing = repairs(&map, &NOBODY);
    assert!(missing.iter().any(|order| order.shard == 1), "{missing:?}");
}

#[test]
fn group_0_is_recovered_as_any_other() {
    let mut map = cluster(3, 1);
    let next = ReplicaId::new(2, 0, 256);
    run(&mut map, recover(0, next));
    assert_eq!(map.members(0).unwrap().voter_on(2), Some(next));
    assert!(!map.members(0).unwrap().is_on(1));
}

#[test]
fn a_move_that_was_under_way_is_undone() {
    let mut map = cluster(5, 1);
    let members = map.members(1).unwrap();
    let from = members.voters().next().unwrap().node();
    let to = (1..=5).find(|node| !members.is_on(*node)).unwrap();
    let moved = MoveReplica {
        shard: 1,
        epoch: members.epoch,
        from,
        to,
        ..MoveReplica::default()
    };
    let job = run(&mut map, Body::MoveReplica(moved)).job.unwrap();
    run(&mut map, recover(1, ReplicaId::new(from, 0, 256)));
    assert_eq!(map.job(job).unwrap().step(), Step::Undone);
}

#[test]
fn ids_of_before_and_of_nobody_are_refused() {
    let map = cluster(3, 1);
    let old = refused(&map, recover(1, ReplicaId::new(1, 0, 0)));
    assert!(matches!(old, Refusal::Invalid(_)));
    let other_disk = refused(&map, recover(1, ReplicaId::new(1, 1, 0)));
    assert!(matches!(other_disk, Refusal::Invalid(_)));
    let nobody = refused(&map, recover(1, ReplicaId::new(9, 0, 256)));
    assert_eq!(nobody, Refusal::UnknownNode(9));
    let unknown = refused(&map, recover(7, ReplicaId::new(1, 0, 256)));
    assert_eq!(unknown, Refusal::UnknownShard(7));
}
