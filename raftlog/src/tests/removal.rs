//! Replicas that are removed for good: what goes, what stays, what is refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::parts::{child, keys, made, open_part, parent, said};
use super::support::{leads, open, options};
use crate::{ChildGroup, Engine, Group, GroupConfig, GroupError, ProposeError, StopReason};

/// The replica that a node is when it has come back to a group so often.
pub(super) const fn returned(node: u64, times: u64) -> u64 {
    (times << 16) | node
}

/// One node with group 7 (row `a`) and its child 8 (rows `x`, `y`).
pub(super) async fn two_groups(engine: &Arc<Engine>) -> (Group, Group) {
    let seven = parent(engine, &[1]).await;
    for entry in ["put a", "put x", "split 8 m"] {
        assert_eq!(said(&seven, entry).await, "done");
    }
    let eight = child(engine).await;
    assert_eq!(said(&eight, "put y").await, "done");
    (seven, eight)
}

/// Whether anything of a group but its descriptor is in the databases.
pub(super) fn is_anything_left(engine: &Engine, group_id: u64) -> bool {
    let shared = &engine.shared;
    let (log, state) = (shared.log_cell.get(), shared.state_cell.get());
    let holds = |db: &rocksdb::DB, tags: &[u8], spared: &[u8]| {
        db.iterator(rocksdb::IteratorMode::Start).any(|row| {
            let (key, _) = row.unwrap();
            let is_of_group = key.get(1..9) == Some(&group_id.to_be_bytes());
            tags.contains(&key[0]) && is_of_group && *key != *spared
        })
    };
    let descriptor = crate::log::field_key(group_id, crate::log::LogField::Descriptor);
    holds(&log.unwrap(), &[0x02, 0x10], &descriptor) || holds(&state.unwrap(), &[0x01], &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_takes_all_of_a_group_and_nothing_of_its_neighbour() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let (seven, eight) = two_groups(&engine).await;
    let token = leads(&seven).await;
    engine.remove_group(7, 1).await.unwrap();
    let late = seven.propose(token, "put b".into()).await;
    assert_eq!(
        late.err(),
        Some(ProposeError::Stopped(StopReason::Shutdown))
    );
    assert_eq!(keys(&engine), ["x", "y"]);
    assert!(!is_anything_left(&engine, 7) && is_anything_left(&engine, 8));
    assert!(engine.group(7).is_none());
    assert_eq!(said(&eight, "put z").await, "done");
    engine.remove_group(7, 1).await.unwrap();
    engine.close().await;

    let engine = open(options(dir.path(), 1));
    let created = engine.created_groups().await.unwrap();
    assert_eq!(created, BTreeSet::from([8]));
    let eight = open_part(&engine, 8).await;
    assert_eq!(said(&eight, "put m").await, "done");
    assert_eq!(keys(&engine), ["m", "x", "y", "z"]);
    engine.close().await;
}

/// A removed id does not come back, a later one does: without rows, without a vote, without a log.
#[tokio::test(flavor = "multi_thread")]
async fn only_an_id_that_was_issued_later_comes_after_a_tombstone() {
    let dir = tempfile::tempdir().unwrap();
    let mut engine = open(options(dir.path(), 1));
    let _groups = two_groups(&engine).await;
    engine.remove_group(7, 1).await.unwrap();
    for _ in 0..2 {
        let again = engine.create_replica(7, 1).await;
        assert!(
            matches!(
                again,
                Err(GroupError::Removed {
                    group_id: 7,
                    replica: 1
                })
            ),
            "{again:?}"
        );
        let founded = engine.create_group(GroupConfig {
            group_id: 7,
            members: BTreeSet::from([1]),
            initial_rows: super::part_machine::first_rows(),
        });
        let founded = founded.await;
        assert!(
            matches!(founded, Err(GroupError::Removed { .. })),
            "{founded:?}"
        );
        engine.close().await;
        engine = open(options(dir.path(), 1));
    }
    engine.create_replica(7, returned(1, 2)).await.unwrap();
    let seven = open_part(&engine, 7).await;
    assert_eq!(seven.replica(), returned(1, 2));
    let status = seven.status();
    assert_eq!((status.last_log_index, status.applied_index), (0, 0));
    assert!(status.voters.is_empty());
    // Its own removal counts from then on.
    let other = engine.remove_group(7, 1).await;
    assert!(
        matches!(other, Err(GroupError::OtherReplica { found, .. }) if found == returned(1, 2)),
        "{other:?}"
    );
    engine.remove_group(7, returned(1, 2)).await.unwrap();
    let between = engine.create_replica(7, returned(1, 1)).await;
    assert!(
        matches!(between, Err(GroupError::Removed { replica, .. }) if replica == returned(1, 2)),
        "{between:?}"
    );
    engine.create_replica(7, returned(1, 3)).await.unwrap();
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_would_lose_something_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let seven = parent(&engine, &[1]).await;
    for entry in ["put a", "put x", "split 8 m"] {
        said(&seven, entry).await;
    }
    let unmade = engine.remove_group(7, 1).await;
    assert!(matches!(unmade, Err(GroupError::Unmade(8))), "{unmade:?}");
    let unmade = engine.create_replica(8, returned(1, 1)).await;
    assert!(matches!(unmade, Err(GroupError::Unmade(8))), "{unmade:?}");
    assert_eq!(said(&seven, "put b").await, "done", "it was not stopped");
    let eight = child(&engine).await;
    let other = engine.remove_group(7, returned(1, 1)).await;
    assert!(
        matches!(other, Err(GroupError::OtherReplica { found: 1, .. })),
        "{other:?}"
    );
    let foreign = engine.remove_group(7, 2).await;
    assert!(
        matches!(foreign, Err(GroupError::Invalid { .. })),
        "{foreign:?}"
    );
    seven.shutdown().await;
    let closed = engine.remove_group(7, 1).await;
    assert!(matches!(closed, Err(GroupError::NotOpen(7))), "{closed:?}");
    assert_eq!(keys(&engine), ["a", "b", "x"]);
    let seven = open_part(&engine, 7).await;
    assert_eq!(said(&seven, "put c").await, "done");
    assert_eq!(said(&eight, "put z").await, "done");
    engine.remove_group(7, 1).await.unwrap();
    assert_eq!(keys(&engine), ["x", "z"]);
    engine.close().await;
}

/// The child was moved away before the parent here has applied the split: its rows go, and it stays away.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_was_removed_before_it_was_founded_is_not_founded() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    engine.remove_group(8, 1).await.unwrap();
    let seven = parent(&engine, &[1]).await;
    for entry in ["put a", "put x", "split 8 m"] {
        assert_eq!(said(&seven, entry).await, "done");
    }
    assert_eq!(made(&engine).await, ChildGroup::Removed);
    assert_eq!(keys(&engine), ["a"]);
    assert!(!is_anything_left(&engine, 8));
    engine.remove_group(7, 1).await.unwrap();
    engine.close().await;
}

/// A child that lived here and was removed is not made again of what its parent's rows say.
#[tokio::test(flavor = "multi_thread")]
async fn a_removed_child_is_not_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let (seven, _eight) = two_groups(&engine).await;
    engine.remove_group(8, 1).await.unwrap();
    assert_eq!(made(&engine).await, ChildGroup::Removed);
    assert_eq!(keys(&engine), ["a"]);
    assert_eq!(said(&seven, "put b").await, "done");
    engine.close().await;
    let engine = open(options(dir.path(), 1));
    assert_eq!(made(&engine).await, ChildGroup::Removed);
    let seven = open_part(&engine, 7).await;
    assert_eq!(said(&seven, "put c").await, "done");
    assert_eq!(keys(&engine), ["a", "b", "c"]);
    engine.close().await;
}
