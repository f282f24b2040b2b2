//! Every refusal of splits, moves and steps: the reason, and that nothing changed.

use crate::{
    Body, Command, Refusal, ReplicaId, ShardMap, Step,
    command::{CancelJob, Drain, MoveReplica, SplitShard, StepDone, WishLeader},
    limits,
    testing::*,
};

fn split(shard: u64, epoch: u64, at: u64, alone: bool) -> Body {
    Body::SplitShard(SplitShard {
        shard,
        epoch,
        at,
        alone,
    })
}

fn moved(shard: u64, from: u32, to: u32) -> MoveReplica {
    MoveReplica {
        shard,
        epoch: 1,
        from,
        to,
        ..MoveReplica::default()
    }
}

/// Four nodes, of which the first three have shard 1.
fn four() -> ShardMap {
    let mut map = cluster(3, 2);
    run(&mut map, joining(4, 0));
    map
}

#[test]
fn an_unknown_shard() {
    let map = four();
    let unknown = Refusal::UnknownShard(9);
    assert_eq!(refused(&map, split(9, 1, 5, false)), unknown);
    assert_eq!(refused(&map, Body::MoveReplica(moved(9, 1, 4))), unknown);
    let wish = Body::WishLeader(WishLeader { shard: 9, node: 1 });
    assert_eq!(refused(&map, wish), unknown);
    let zero = refused(&map, split(0, 1, 5, false));
    assert_eq!(zero, Refusal::Invalid("group 0 has no range to split"));
}

#[test]
fn a_point_outside_the_range() {
    let map = four();
    let (first, last) = (map.shards[1].first, map.shards[1].last);
    for at in [0, first - 1, first] {
        let outside = Refusal::OutsideRange {
            shard: 2,
            at,
            first,
            last,
        };
        assert_eq!(refused(&map, split(2, 1, at, false)), outside);
    }
    let alone = refused(&map, split(2, 1, first - 1, true));
    assert!(matches!(alone, Refusal::OutsideRange { .. }), "{alone}");
    // A shard of one hash has no cut at all.
    let mut map = cluster(3, 1);
    let body = split(1, 1, 0, true);
    let job = begin(&mut map, body);
    finish(&mut map, job);
    let one = refused(&map, split(1, epoch(&map, 1), 0, true));
    assert!(matches!(one, Refusal::OutsideRange { .. }), "{one}");
}

#[test]
fn a_stale_epoch_or_map_version() {
    let map = four();
    let stale = Refusal::StaleEpoch {
        shard: 1,
        given: 7,
        current: 1,
    };
    assert_eq!(refused(&map, split(1, 7, 5, false)), stale);
    let body = MoveReplica {
        epoch: 7,
        ..moved(1, 1, 4)
    };
    assert_eq!(refused(&map, Body::MoveReplica(body)), stale);
    let command = Command {
        if_version: 1,
        ..Body::Drain(Drain { node: 1 }).into()
    };
    let refusal = refused(&map, command);
    assert_eq!(
        refusal,
        Refusal::StaleMap {
            given: 1,
            current: 2
        }
    );
}

#[test]
fn a_move_to_a_node_that_has_the_shard() {
    let map = four();
    for (from, to) in [(1, 2), (1, 1)] {
        let refusal = refused(&map, Body::MoveReplica(moved(1, from, to)));
        assert_eq!(refusal, Refusal::HasReplica { shard: 1, node: to });
    }
}

#[test]
fn a_move_from_a_node_that_has_no_voter_or_to_one_that_takes_none() {
    let mut map = four();
    let refusal = refused(&map, Body::MoveReplica(moved(1, 4, 4)));
    assert_eq!(refusal, Refusal::HasNoVoter { shard: 1, node: 4 });
    for (from, to) in [(9, 4), (1, 9)] {
        let refusal = refused(&map, Body::MoveReplica(moved(1, from, to)));
        assert_eq!(refusal, Refusal::UnknownNode(9));
    }
    begin(&mut map, Body::Drain(Drain { node: 4 }));
    let refusal = refused(&map, Body::MoveReplica(moved(1, 1, 4)));
    let draining = Refusal::NodeNotUsable {
        node: 4,
        why: "draining",
    };
    assert_eq!(refusal, draining);
}

#[test]
fn a_group_that_has_its_voters_does_not_grow() {
    let map = four();
    let refusal = refused(&map, Body::MoveReplica(moved(1, 0, 4)));
    assert_eq!(
        refusal,
        Refusal::EnoughVoters {
            shard: 1,
            voters: 3
        }
    );
}

#[test]
fn a_second_job_of_a_shard() {
    let mut map = four();
    let first = begin(&mut map, split(1, 1, 5, false));
    let busy = |shard| Refusal::ShardBusy { shard, job: first };
    assert_eq!(refused(&map, split(1, 1, 6, false)), busy(1));
    assert_eq!(refused(&map, Body::MoveReplica(moved(1, 1, 4))), busy(1));
    while map.job(first).unwrap().step() != Step::MapChanged {
        step(&mut map, first);
    }
    let child = moving(&map, 3, 1, 4);
    assert_eq!(refused(&map, child), busy(3));
    let second = begin(&mut map, Body::MoveReplica(moved(2, 1, 4)));
    let refusal = refused(&map, splitting(&map, 2, u64::MAX));
    assert_eq!(
        refusal,
        Refusal::ShardBusy {
            shard: 2,
            job: second
        }
    );
}

#[test]
fn a_replica_id_that_was_used() {
    let mut map = four();
    let body = moving(&map, 1, 1, 4);
    let job = begin(&mut map, body);
    finish(&mut map, job);
    let back = |replica: ReplicaId| {
        Body::MoveReplica(MoveReplica {
            epoch: 3,
            replica: replica.0,
            ..moved(1, 4, 1)
        })
    };
    let refusal = refused(&map, back(ReplicaId::new(1, 0, 0)));
    assert_eq!(
        refusal,
        Refusal::ReplicaReused {
            shard: 1,
            replica: 1
        }
    );
    let refusal = refused(&map, back(ReplicaId::new(1, 5, 0)));
    assert!(matches!(refusal, Refusal::Invalid(_)), "{refusal}");
    run(&mut map, back(ReplicaId::new(1, 0, u16::MAX)));
    finish(&mut map, 2);
    let body = moving(&map, 1, 1, 4);
    let job = begin(&mut map, body);
    finish(&mut map, job);
    let refusal = refused(&map, moving(&map, 1, 4, 1));
    assert_eq!(refusal, Refusal::ReplicaIdsUsedUp { shard: 1, node: 1 });
}

#[test]
fn a_step_that_is_not_the_jobs() {
    let mut map = four();
    let said = |job, expects: Step| {
        Body::StepDone(StepDone {
            job,
            expects: expects.into(),
            created: vec![],
        })
    };
    assert_eq!(
        refused(&map, said(1, Step::Planned)),
        Refusal::UnknownJob(1)
    );
    let job = begin(&mut map, split(1, 1, 5, false));
    let wrong = refused(&map, said(job, Step::ParentApplied));
    let expected = Refusal::WrongStep {
        job,
        expected: "parent applied",
        current: "planned",
    };
    assert_eq!(wrong, expected);
    let unknown = Body::StepDone(StepDone {
        job,
        expects: 99,
        created: vec![],
    });
    assert!(matches!(refused(&map, unknown), Refusal::Invalid(_)));
    let drain = begin(&mut map, Body::Drain(Drain { node: 2 }));
    let by_itself = refused(&map, said(drain, Step::Emptying));
    assert!(
        matches!(by_itself, Refusal::WrongStep { .. }),
        "it ends by itself"
    );
}

#[test]
fn a_child_that_too_few_have_made() {
    let mut map = four();
    let job = begin(&mut map, split(1, 1, 5, false));
    step(&mut map, job);
    step(&mut map, job);
    let few = Body::StepDone(StepDone {
        job,
        expects: Step::ParentApplied.into(),
        created: vec![2, 2, 9],
    });
    let too_few = Refusal::TooFewCreated {
        created: 1,
        needed: 2,
    };
    assert_eq!(refused(&map, few), too_few);
}

#[test]
fn a_job_that_is_past_its_return_or_has_ended() {
    let cancel = |job, group_refused| {
        Body::CancelJob(CancelJob {
            job,
            reason: String::new(),
            group_refused,
        })
    };
    let mut map = four();
    assert_eq!(refused(&map, cancel(5, false)), Refusal::UnknownJob(5));
    let job = begin(&mut map, split(1, 1, 5, false));
    for name in [
        "parent told",
        "parent applied",
        "child created",
        "map changed",
    ] {
        step(&mut map, job);
        let past = Refusal::PastReturn { job, step: name };
        assert_eq!(refused(&map, cancel(job, false)), past);
        if name != "parent told" {
            assert_eq!(refused(&map, cancel(job, true)), past);
        }
    }
    finish(&mut map, job);
    let ended = Refusal::JobEnded { job, end: "done" };
    assert_eq!(refused(&map, cancel(job, false)), ended);
}

#[test]
fn more_jobs_than_may_run() {
    let mut map = cluster(3, limits::RUNNING_JOBS as u64 + 1);
    for shard in 1..=limits::RUNNING_JOBS as u64 {
        let at = map.shard(shard).unwrap().last;
        crate::apply(&mut map, &split(shard, 1, at, false).into()).unwrap();
    }
    let last = limits::RUNNING_JOBS as u64 + 1;
    let refusal = refused(&map, split(last, 1, u64::MAX, false));
    assert!(matches!(refusal, Refusal::Limit { .. }), "{refusal}");
}
