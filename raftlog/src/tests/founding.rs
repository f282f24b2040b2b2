//! Groups that an entry of another group founds out of its rows.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use openraft::EntryPayload;

use super::parts::{child, keys, made, open_part, parent, said};
use super::support::{copy_dir, leads, open, options, propose, until};
use crate::raft_types::{Entry, Membership, Payload, log_id};
use crate::testing::LocalNetwork;
use crate::{ChildGroup, Engine, EngineOptions, Group, GroupError, GroupState};

#[tokio::test(flavor = "multi_thread")]
async fn a_child_is_made_of_rows_that_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let seven = parent(&engine, &[1]).await;
    assert_eq!(made(&engine).await, ChildGroup::Unfounded);
    for key in ["a", "x"] {
        assert_eq!(said(&seven, &format!("put {key}")).await, "done");
    }
    assert_eq!(said(&seven, "split 8 m").await, "done");
    assert_eq!(said(&seven, "put y").await, "elsewhere");
    let eight = child(&engine).await;
    assert_eq!(said(&eight, "put y").await, "done");
    assert_eq!(said(&eight, "put b").await, "elsewhere");
    assert_eq!(keys(&engine), ["a", "x", "y"]);
    assert_eq!(eight.status().voters, BTreeSet::from([1]));
    // What was founded is not joined as well, and the reverse.
    assert!(matches!(
        engine.create_replica(8, engine.options().node_id).await,
        Err(GroupError::Conflict(8))
    ));
    engine.close().await;

    let engine = open(options(dir.path(), 1));
    let created = engine.created_groups().await.unwrap();
    assert_eq!(created, BTreeSet::from([7, 8]));
    let (seven, eight) = (open_part(&engine, 7).await, open_part(&engine, 8).await);
    assert_eq!(said(&seven, "put z").await, "elsewhere");
    assert_eq!(said(&eight, "put z").await, "done");
    assert_eq!(keys(&engine), ["a", "x", "y", "z"]);
    engine.close().await;
}

/// The power goes after each step: the entry is committed, applied, the child created, the child written to.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_after_any_step_leaves_both_whole() {
    let dir = tempfile::tempdir().unwrap();
    let unflushed = |dir: &Path| EngineOptions {
        flush_interval_ms: 3_600_000,
        ..options(dir, 1)
    };
    let images: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let image = |place: usize| {
        for part in ["log", "state"] {
            copy_dir(&dir.path().join(part), &images[place].path().join(part));
        }
    };
    let engine = open(unflushed(dir.path()));
    let seven = parent(&engine, &[1]).await;
    said(&seven, "put a").await;
    said(&seven, "put x").await;
    said(&seven, "split 8 m").await;
    image(0);
    let eight = child(&engine).await;
    image(1);
    said(&eight, "put y").await;
    said(&seven, "put b").await;
    image(2);
    engine.close().await;
    for (place, after) in images.iter().enumerate() {
        let engine = open(options(after.path(), 1));
        let seven = open_part(&engine, 7).await;
        // What was committed is committed again before it is applied.
        said(&seven, "put a").await;
        let found = made(&engine).await;
        let expected = if place == 0 {
            ChildGroup::Created
        } else {
            ChildGroup::Existed
        };
        assert_eq!(found, expected, "image {place}");
        let eight = open_part(&engine, 8).await;
        assert_eq!(said(&seven, "put c").await, "done");
        assert_eq!(said(&eight, "put z").await, "done");
        let more: &[&str] = if place == 2 {
            &["a", "b", "c", "x", "y", "z"]
        } else {
            &["a", "c", "x", "z"]
        };
        assert_eq!(keys(&engine), more, "image {place}");
        engine.close().await;
    }
}

/// An entry that reaches a replica which its group has removed meanwhile: the child is not its, nor are the child's rows.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_no_member_keeps_no_rows_of_the_child() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let seven = parent(&engine, &[1]).await;
    said(&seven, "put a").await;
    let index = propose(&seven, "put x").await.index;
    let instance = seven.slot.running().unwrap().instance;
    let entry = |above: u64, payload| Entry {
        log_id: log_id(1, index + above),
        payload,
    };
    let others = Membership::new_with_defaults(vec![BTreeSet::from([2, 3])], []);
    let split = EntryPayload::Normal(Payload("split 8 m".into()));
    let entries = [entry(1, EntryPayload::Membership(others)), entry(2, split)];
    tokio::task::block_in_place(|| instance.apply(&entries)).unwrap();
    drop(instance);
    assert_eq!(keys(&engine), ["a"]);
    assert_eq!(made(&engine).await, ChildGroup::Elsewhere);
    engine.close().await;
}

fn purging(dir: &Path, node_id: u64) -> EngineOptions {
    EngineOptions {
        flush_interval_ms: 50,
        log_keep_entries: 5,
        ..options(dir, node_id)
    }
}

/// A node with group 7 open.
async fn node(network: &LocalNetwork, dir: &Path, node_id: u64) -> (Arc<Engine>, Group) {
    let engine = Engine::open(purging(dir, node_id), network.transport(node_id)).unwrap();
    network.attach(&engine);
    let seven = parent(&engine, &[1, 2, 3]).await;
    (engine, seven)
}

async fn leader(groups: &[&Group]) -> usize {
    let find = || {
        let at = groups.iter().position(|group| group.status().is_leader)?;
        let term = groups[at].status().term;
        groups
            .iter()
            .all(|group| group.status().term == term)
            .then_some(at)
    };
    until("a leader", || find().is_some()).await;
    find().unwrap_or_default()
}

/// Proposes until all of the others have purged what is below.
async fn purge_behind(group: &Group, prefix: &str) {
    for number in 0..60 {
        said(group, &format!("put {prefix}{number:03}")).await;
    }
    let last = group.status().last_log_index;
    until("the log is purged", || {
        group.status().purged_index + 20 > last
    })
    .await;
}

/// A replica that missed the split gets the parent's snapshot: what it had of the child goes, the child is fed to it. Then the
/// child lives beside the parent, and another snapshot of the parent leaves every row of it alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lagging_replica_takes_the_parents_snapshot_then_the_child() {
    let (dirs, network) = (super::cluster::temp_dirs(3), LocalNetwork::default());
    let mut engines = Vec::new();
    let mut sevens = Vec::new();
    for (place, dir) in dirs.iter().enumerate() {
        let (engine, seven) = node(&network, dir.path(), place as u64 + 1).await;
        engines.push(engine);
        sevens.push(seven);
    }
    let first = leader(&sevens.iter().collect::<Vec<_>>()).await;
    said(&sevens[first], "put a").await;
    said(&sevens[first], "put x-old").await;
    until("all have both", || {
        engines.iter().all(|engine| keys(engine).len() == 2)
    })
    .await;
    let behind = (first + 1) % 3;
    sevens.remove(behind);
    engines.remove(behind).close().await;
    let at = leader(&sevens.iter().collect::<Vec<_>>()).await;
    said(&sevens[at], "split 8 m").await;
    let mut eights = Vec::new();
    for engine in &engines {
        let engine = Arc::clone(engine);
        until("the split is applied", || {
            let meta = engine.state().get(&[b'm', 8]);
            meta.is_ok_and(|row| row.is_some())
        })
        .await;
        eights.push(child(&engine).await);
    }
    let child_at = leader(&eights.iter().collect::<Vec<_>>()).await;
    said(&eights[child_at], "put y").await;
    purge_behind(&sevens[at], "b").await;

    let (back, seven) = node(&network, dirs[behind].path(), behind as u64 + 1).await;
    until("the snapshot is there", || {
        back.metrics().snapshots_installed == 1
    })
    .await;
    // Its log said nothing of the split, and the snapshot says so without the child's rows.
    until("the child's old row is gone", || {
        !keys(&back).contains(&"x-old".to_owned())
    })
    .await;
    assert_eq!(made(&back).await, ChildGroup::Elsewhere);
    back.create_replica(8, back.options().node_id)
        .await
        .unwrap();
    let fed = open_part(&back, 8).await;
    until("the child is fed", || {
        let keys = keys(&back);
        keys.contains(&"x-old".to_owned()) && keys.contains(&"y".to_owned())
    })
    .await;
    assert_eq!(fed.status().voters, BTreeSet::from([1, 2, 3]));

    // Again behind, with the child at home, which goes on without it.
    until("it has all", || keys(&back) == keys(&engines[0])).await;
    back.close().await;
    drop((seven, fed, back));
    let at = leader(&sevens.iter().collect::<Vec<_>>()).await;
    purge_behind(&sevens[at], "c").await;
    let engine = Engine::open(
        purging(dirs[behind].path(), behind as u64 + 1),
        network.transport(behind as u64 + 1),
    )
    .unwrap();
    network.attach(&engine);
    let eight = open_part(&engine, 8).await;
    let seven = parent(&engine, &[1, 2, 3]).await;
    until("the parent's snapshot came", || {
        engine.metrics().snapshots_installed >= 1
    })
    .await;
    let kept = keys(&engine);
    assert!(kept.contains(&"x-old".to_owned()) && kept.contains(&"y".to_owned()));
    until("it has all again", || keys(&engine) == keys(&engines[0])).await;
    let child_at = leader(&eights.iter().collect::<Vec<_>>()).await;
    said(&eights[child_at], "put z").await;
    until("the child goes on here", || {
        keys(&engine).contains(&"z".to_owned())
    })
    .await;
    for group in [&seven, &eight] {
        assert_eq!(group.status().state, GroupState::Running);
    }
    leads(&sevens[leader(&sevens.iter().collect::<Vec<_>>()).await]).await;
    engine.close().await;
    for engine in engines {
        engine.close().await;
    }
}
