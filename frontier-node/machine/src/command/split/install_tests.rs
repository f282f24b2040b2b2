//! Parent and child beside each other in one store, and snapshots that come late.

use super::tests::{AT, CHILD, done, sides};
use crate::{
    Machine, Overlay, Rows, ShardId, invariants, invariants::View, key_ranges, testing::*,
};
use std::collections::BTreeMap;

type RowMap = BTreeMap<Vec<u8>, Vec<u8>>;

/// The rows of those key ranges.
fn within(rows: &RowMap, ranges: &[(Vec<u8>, Vec<u8>)]) -> RowMap {
    let parts = ranges
        .iter()
        .flat_map(|(from, to)| rows.range(from.clone()..to.clone()));
    parts
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// What an engine does with a snapshot: what the replica's own rows of the shard cover goes, the snapshot's rows come.
fn install(rows: &mut MemRows, shard: ShardId, snapshot: RowMap) {
    let (first, last) = Machine::stored_range(rows, shard).unwrap().unwrap();
    for key in within(&rows.rows, &key_ranges(shard, first, last)).into_keys() {
        rows.rows.remove(&key);
    }
    rows.rows.extend(snapshot);
}

fn checked(rows: &MemRows, shard: u64) -> Machine {
    let machine = Machine::rebuild(rows, ShardId(shard)).unwrap().unwrap();
    invariants::check_state(&View::read_own(rows, ShardId(shard)).unwrap()).unwrap();
    invariants::rebuild(&machine, rows).unwrap();
    machine
}

/// A shard with URLs on both sides, some leased, before a split.
fn shard() -> Shard {
    let (low, high) = sides();
    let mut shard = Shard::new();
    shard.add(&[&low, &high]);
    shard.lease(1);
    shard
}

fn go_on(shard: &mut Shard) {
    let (low, high) = sides();
    shard.add(&[&format!("{low}late"), &format!("{high}late")]);
}

#[test]
fn parent_and_child_live_beside_each_other_in_one_store() {
    let mut shard = shard();
    assert_eq!(shard.split(CHILD, AT, 0), done(CHILD, AT, u64::MAX, 1));
    let mut child = shard.m.take_children().pop().unwrap();
    let rows = &mut shard.rows;
    invariants::rebuild(&child, rows).unwrap();
    invariants::rebuild(&shard.m, rows).unwrap();
    // Every row is one's or the other's.
    let (low, high) = (
        within(&rows.rows, &shard.m.key_ranges()),
        within(&rows.rows, &child.key_ranges()),
    );
    assert_eq!(low.len() + high.len(), rows.rows.len());
    assert!(low.keys().all(|key| !high.contains_key(key)));
    // Work of the one leaves the other's rows alone.
    let mut overlay = Overlay::default();
    let (_, url) = sides();
    let discover = crate::command::discover::Discover {
        items: vec![item(link(CRAWL, &format!("{url}2"), 1))],
    };
    let entry = crate::Entry {
        now_ms: shard.now_ms,
        wall_unix_ms: shard.wall_ms,
        commands: vec![crate::Command {
            body: Some(crate::Body::Discover(discover)),
        }],
    };
    child.apply(rows, &entry, &mut overlay).unwrap();
    rows.commit(&mut overlay);
    assert_eq!(within(&rows.rows, &shard.m.key_ranges()), low);
    checked(rows, 1);
    assert_eq!(
        checked(rows, CHILD).status().terms.queued,
        child.status().terms.queued
    );
}

// A replica that had applied the split lags and gets the parent's snapshot, while the child lives beside it.
#[test]
fn a_parents_snapshot_leaves_a_live_child_alone() {
    let mut leader = shard();
    leader.split(CHILD, AT, 0);
    let mut lagging = MemRows {
        rows: leader.rows.rows.clone(),
        ..MemRows::default()
    };
    let (low, _) = sides();
    leader.add(&[&format!("{low}late")]);
    let snapshot = within(&leader.rows.rows, &leader.m.key_ranges());
    let child = Machine::rebuild(&lagging, ShardId(CHILD)).unwrap().unwrap();
    let before = within(&lagging.rows, &child.key_ranges());
    install(&mut lagging, ShardId(1), snapshot.clone());
    assert_eq!(within(&lagging.rows, &child.key_ranges()), before);
    assert_eq!(checked(&lagging, 1).status(), leader.m.status());
    checked(&lagging, CHILD);
    assert_eq!(before.len() + snapshot.len(), lagging.rows.len());
}

// A replica that missed the split gets the parent's snapshot: nothing is left of what is the child's now, so that the child's
// own snapshot finds free range.
#[test]
fn a_snapshot_over_a_missed_split_frees_the_childs_range() {
    let mut leader = shard();
    let mut lagging = MemRows {
        rows: leader.rows.rows.clone(),
        ..MemRows::default()
    };
    go_on(&mut leader);
    leader.split(CHILD, AT, 0);
    let child = leader.m.take_children().pop().unwrap();
    let of_parent = within(&leader.rows.rows, &leader.m.key_ranges());
    let of_child = within(&leader.rows.rows, &child.key_ranges());
    install(&mut lagging, ShardId(1), of_parent);
    assert!(within(&lagging.rows, &child.key_ranges()).is_empty());
    assert_eq!(
        Machine::stored_range(&lagging, ShardId(CHILD)).unwrap(),
        None
    );
    assert_eq!(checked(&lagging, 1).status(), leader.m.status());
    lagging.rows.extend(of_child);
    assert_eq!(checked(&lagging, CHILD).status(), child.status());
    assert_eq!(lagging.rows, leader.rows.rows);
}

// The same entry at replicas that were rebuilt before and that were not seeds the same child.
#[test]
fn a_rebuilt_replica_seeds_the_same_child() {
    let mut one = shard();
    let rows = MemRows {
        rows: one.rows.rows.clone(),
        ..MemRows::default()
    };
    let mut other = shard();
    other.m = Machine::rebuild(&rows, ShardId(1)).unwrap().unwrap();
    other.rows = rows;
    assert_eq!(one.split(CHILD, AT, 0), other.split(CHILD, AT, 0));
    assert_eq!(one.rows.rows, other.rows.rows);
    let status = |shard: &mut Shard| shard.m.take_children().pop().unwrap().status();
    assert_eq!(status(&mut one), status(&mut other));
}

#[test]
fn the_stored_range_is_that_of_the_rows() {
    let mut shard = shard();
    assert_eq!(
        Machine::stored_range(&shard.rows, ShardId(1)).unwrap(),
        Some((0, u64::MAX))
    );
    shard.split(CHILD, AT, 0);
    assert_eq!(
        Machine::stored_range(&shard.rows, ShardId(1)).unwrap(),
        Some((0, AT - 1))
    );
    assert_eq!(
        Machine::stored_range(&shard.rows, ShardId(CHILD)).unwrap(),
        Some((AT, u64::MAX))
    );
    let no_rows: &dyn Rows = &MemRows::default();
    assert_eq!(Machine::stored_range(no_rows, ShardId(1)).unwrap(), None);
}
