//! A job is killed at any step: whoever drives and whoever replicates the map dies, and the next one reads the map from
//! bytes. The job is finished or undone, and says which.

use crate::{Body, Plan, Role, ShardMap, Step, apply, command::CancelJob, invariants, testing::*};

/// The map as another node reads it.
fn reread(map: &ShardMap) -> ShardMap {
    let read = ShardMap::from_bytes(&map.to_bytes()).unwrap();
    assert_eq!(read, *map);
    read
}

/// Kills after `steps` steps; then someone else cancels, or goes on where that is refused.
fn kill_and_cancel(mut map: ShardMap, body: Body, steps: usize) -> (ShardMap, Step) {
    let job = begin(&mut map, body);
    for _ in 0..steps {
        step(&mut map, job);
    }
    let mut map = reread(&map);
    let safe = map.job(job).unwrap().can_be_cancelled();
    let cancel = Body::CancelJob(CancelJob {
        job,
        ..CancelJob::default()
    });
    let answer = apply(&mut map, &cancel.into());
    assert_eq!(answer.is_ok(), safe, "listed as safe, and answered so");
    let end = finish(&mut map, job);
    invariants::check(&map).unwrap();
    (map, end)
}

#[test]
fn a_split_killed_at_any_step_is_finished_or_undone() {
    for steps in 0..5 {
        let map = cluster(3, 2);
        let body = splitting(&map, 1, 77);
        let (after, end) = kill_and_cancel(map.clone(), body, steps);
        let expected = if steps == 0 { Step::Undone } else { Step::Done };
        assert_eq!(end, expected, "killed after {steps} steps");
        let is_split = after.owner(77).unwrap().id == 3;
        assert_eq!(is_split, end == Step::Done);
        if end == Step::Undone {
            assert_eq!(after.shards, map.shards);
        }
    }
}

#[test]
fn a_move_killed_at_any_step_is_finished_or_undone() {
    for steps in 0..4 {
        let map = cluster(4, 2);
        let on = nodes_of(&map, 1);
        let to = (1..=4).find(|n| !on.contains(n)).unwrap();
        let body = moving(&map, 1, on[0], to);
        let (after, end) = kill_and_cancel(map, body, steps);
        let expected = if steps < 2 { Step::Undone } else { Step::Done };
        assert_eq!(end, expected, "killed after {steps} steps");
        let is_moved = nodes_of(&after, 1) != on;
        assert_eq!(is_moved, end == Step::Done);
        let members = after.members(1).unwrap();
        assert!(members.replicas.iter().all(|r| r.role() == Role::Voter));
    }
}

#[test]
fn a_job_killed_at_any_step_is_finished_by_another_driver_from_the_bytes_of_the_map() {
    for steps in 0..5 {
        let mut map = cluster(4, 2);
        let on = nodes_of(&map, 2);
        let to = (1..=4).find(|n| !on.contains(n)).unwrap();
        let (split, moved) = (splitting(&map, 1, 77), moving(&map, 2, on[1], to));
        let jobs = [begin(&mut map, split), begin(&mut map, moved)];
        for _ in 0..steps {
            for job in jobs {
                if map.job(job).unwrap().is_running() {
                    step(&mut map, job);
                }
            }
        }
        let mut map = reread(&map);
        for job in jobs {
            assert_eq!(finish(&mut map, job), Step::Done);
        }
        assert_eq!(map.shards.len(), 3);
        assert!(nodes_of(&map, 2).contains(&to));
    }
}

#[test]
fn a_second_cut_whose_turn_comes_after_a_kill_still_begins() {
    let mut map = cluster(3, 1);
    let body = Body::SplitShard(crate::command::SplitShard {
        shard: 1,
        epoch: 1,
        at: 1 << 40,
        alone: true,
    });
    let job = begin(&mut map, body);
    while map.job(job).unwrap().is_running() {
        map = reread(&map);
        step(&mut map, job);
    }
    let map = reread(&map);
    let next = map.running_jobs().next().unwrap();
    assert!(matches!(&next.plan, Some(Plan::Split(s)) if s.at == (1 << 40) + 1));
}

/// A target that died after it had caught up would keep its shard busy for ever.
#[test]
fn a_move_that_the_group_refused_is_undone_even_after_the_learner_caught_up() {
    let mut map = cluster(4, 1);
    let on = nodes_of(&map, 1);
    let to = (1..=4).find(|n| !on.contains(n)).unwrap();
    let body = moving(&map, 1, on[0], to);
    let job = begin(&mut map, body);
    step(&mut map, job);
    assert_eq!(step(&mut map, job), Step::CaughtUp);
    let mut cancel = CancelJob {
        job,
        reason: "the target died".to_owned(),
        group_refused: false,
    };
    refused(&map, Body::CancelJob(cancel.clone()));
    cancel.group_refused = true;
    let mut other = map.clone();
    run(&mut map, Body::CancelJob(cancel.clone()));
    assert_eq!(
        (finish(&mut map, job), nodes_of(&map, 1)),
        (Step::Undone, on)
    );
    // Once the voters are changed there is nothing to refuse.
    step(&mut other, job);
    refused(&other, Body::CancelJob(cancel));
}
