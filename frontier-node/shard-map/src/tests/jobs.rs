//! The life of a split and of a move.

use crate::{
    Body, Command, Fate, Plan, ReplicaId, Role, Step,
    command::{CancelJob, MoveReplica, SplitShard},
    testing::*,
};

/// A node that has shard 1, and one of four that does not.
fn ends(map: &crate::ShardMap) -> (u32, u32) {
    let on = nodes_of(map, 1);
    (on[0], (1..=4).find(|n| !on.contains(n)).unwrap())
}

#[test]
fn a_split_goes_its_way_and_the_map_changes_at_one_step_only() {
    let mut map = cluster(3, 1);
    let at = 1 << 63;
    let split = splitting(&map, 1, at);
    let job = begin(&mut map, split);
    for expected in [Step::ParentTold, Step::ParentApplied, Step::ChildCreated] {
        assert_eq!(step(&mut map, job), expected);
        assert_eq!((map.shards.len(), epoch(&map, 1)), (1, 1));
        assert_eq!(map.owner(at).unwrap().id, 1);
    }
    assert_eq!(step(&mut map, job), Step::MapChanged);
    assert_eq!(
        (map.owner(at - 1).unwrap().id, map.owner(at).unwrap().id),
        (1, 2)
    );
    assert_eq!((epoch(&map, 1), epoch(&map, 2)), (2, 2));
    assert_eq!(nodes_of(&map, 2), nodes_of(&map, 1));
    assert_eq!(
        map.job_of_shard(2).unwrap().id,
        job,
        "the child is not free yet"
    );
    assert_eq!(step(&mut map, job), Step::Done);
    assert!(map.job_of_shard(1).is_none() && map.job_of_shard(2).is_none());
}

#[test]
fn one_site_stands_alone_after_two_splits_that_follow_each_other() {
    let mut map = cluster(3, 1);
    let site = 1 << 60;
    let alone = |map: &crate::ShardMap, shard, at| {
        Body::SplitShard(SplitShard {
            shard,
            epoch: epoch(map, shard),
            at,
            alone: true,
        })
    };
    let body = alone(&map, 1, site);
    let job = begin(&mut map, body);
    finish(&mut map, job);
    let Some(Plan::Split(split)) = &map.job(job).unwrap().plan else {
        panic!("not a split");
    };
    let next = split.next_job;
    assert_eq!(finish(&mut map, next), Step::Done);
    let owner = map.owner(site).unwrap();
    assert_eq!((owner.first, owner.last), (site, site));
    assert_eq!(map.shards.len(), 3);
    // At either end of the space one cut is enough.
    for (site, count) in [(0, 4), (u64::MAX, 5)] {
        let shard = map.owner(site).unwrap().id;
        let body = alone(&map, shard, site);
        let job = begin(&mut map, body);
        assert_eq!(finish(&mut map, job), Step::Done);
        assert!(map.running_jobs().next().is_none());
        let owner = map.owner(site).unwrap();
        assert_eq!(
            (owner.first, owner.last, map.shards.len()),
            (site, site, count)
        );
    }
}

#[test]
fn a_move_feeds_first_and_the_old_replica_is_a_tombstone() {
    let mut map = cluster(4, 1);
    let (from, to) = ends(&map);
    let body = moving(&map, 1, from, to);
    let job = begin(&mut map, body);
    let new = ReplicaId::new(to, 0, 0);
    let role = |map: &crate::ShardMap| {
        let members = map.members(1).unwrap();
        let replica = members.replicas.iter().find(|r| r.id == new.0);
        replica.map(|r| r.role())
    };
    assert_eq!((role(&map), epoch(&map, 1)), (Some(Role::Learner), 2));
    assert_eq!(step(&mut map, job), Step::LearnerAdded);
    assert_eq!(step(&mut map, job), Step::CaughtUp);
    assert_eq!(nodes_of(&map, 1).len(), 3);
    assert_eq!(role(&map), Some(Role::Learner));
    assert_eq!(step(&mut map, job), Step::VotersChanged);
    assert_eq!((role(&map), epoch(&map, 1)), (Some(Role::Voter), 3));
    assert_eq!(map.fate(1, ReplicaId::new(from, 0, 0)), Fate::Retired);
    assert_eq!(step(&mut map, job), Step::Done);
    assert_eq!(nodes_of(&map, 1).len(), 3);
}

#[test]
fn a_node_that_a_shard_comes_back_to_gets_another_replica_id() {
    let mut map = cluster(4, 1);
    let (from, to) = ends(&map);
    for (returns, (a, b)) in [(from, to), (to, from), (from, to)].into_iter().enumerate() {
        let body = moving(&map, 1, a, b);
        let job = begin(&mut map, body);
        finish(&mut map, job);
        let newest = map.members(1).unwrap().voter_on(b).unwrap();
        assert_eq!(usize::from(newest.returns()), returns.div_ceil(2));
    }
    assert_eq!(map.fate(1, ReplicaId::new(from, 0, 0)), Fate::Retired);
    assert_eq!(map.fate(1, ReplicaId::new(from, 0, 1)), Fate::Retired);
    assert_eq!(map.fate(1, ReplicaId::new(to, 0, 1)), Fate::Belongs);
    assert_eq!(map.fate(1, ReplicaId::new(to, 0, 2)), Fate::NotYetKnown);
}

#[test]
fn a_cancelled_move_leaves_a_tombstone_and_frees_the_shard_when_it_is_undone() {
    let mut map = cluster(4, 1);
    let (from, to) = ends(&map);
    let body = moving(&map, 1, from, to);
    let job = begin(&mut map, body);
    step(&mut map, job);
    let cancel = Body::CancelJob(CancelJob {
        job,
        reason: "the disk is too small".to_owned(),
        group_refused: false,
    });
    run(&mut map, cancel.clone());
    assert_eq!(map.fate(1, ReplicaId::new(to, 0, 0)), Fate::Retired);
    assert_eq!(map.job_of_shard(1).unwrap().step(), Step::Undoing);
    assert!(!run(&mut map, cancel).changed);
    assert_eq!(step(&mut map, job), Step::Undone);
    assert_eq!(map.job(job).unwrap().reason, "the disk is too small");
    let body = moving(&map, 1, from, to);
    begin(&mut map, body);
    assert!(map.members(1).unwrap().has(ReplicaId::new(to, 0, 1)));
}

#[test]
fn a_split_that_the_group_refused_is_undone_and_its_number_is_not_used_again() {
    let mut map = cluster(3, 1);
    let body = splitting(&map, 1, 9);
    let job = begin(&mut map, body);
    step(&mut map, job);
    run(
        &mut map,
        Body::CancelJob(CancelJob {
            job,
            reason: "the parent's range is another".to_owned(),
            group_refused: true,
        }),
    );
    assert_eq!(map.job(job).unwrap().step(), Step::Undone);
    assert_eq!(map.fate(2, ReplicaId(1)), Fate::Retired);
    let body = splitting(&map, 1, 9);
    let job = begin(&mut map, body);
    finish(&mut map, job);
    assert_eq!(map.owner(9).unwrap().id, 3);
}

#[test]
fn a_request_that_is_sent_again_finds_its_job() {
    let mut map = cluster(3, 1);
    let mut command = Command::from(splitting(&map, 1, 9));
    command.request = 0xfeed;
    let first = send(&mut map, &command);
    let again = send(&mut map, &command);
    assert_eq!((again.job, again.changed), (first.job, false));
    finish(&mut map, first.job.unwrap());
    assert_eq!(send(&mut map, &command).job, first.job, "ended, and found");
}

#[test]
fn a_late_driver_changes_nothing() {
    let mut map = cluster(4, 1);
    let (from, to) = ends(&map);
    let body = moving(&map, 1, from, to);
    let job = begin(&mut map, body);
    let mut said = Vec::new();
    while map.job(job).unwrap().is_running() {
        said.push(done(map.job(job).unwrap()));
        step(&mut map, job);
    }
    for late in said {
        assert!(!run(&mut map, late).changed);
    }
}

#[test]
fn what_a_person_moved_is_pinned() {
    let mut map = cluster(4, 1);
    let (from, to) = ends(&map);
    let job = begin(
        &mut map,
        Body::MoveReplica(MoveReplica {
            shard: 1,
            epoch: 1,
            from,
            to,
            pin: true,
            replica: ReplicaId::new(to, 0, 7).0,
        }),
    );
    finish(&mut map, job);
    assert_eq!(map.members(1).unwrap().pinned, nodes_of(&map, 1));
    let named = map.members(1).unwrap().voter_on(to);
    assert_eq!(named, Some(ReplicaId::new(to, 0, 7)));
}
