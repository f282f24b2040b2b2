//! Tests of what a node knows of the shard map.

use super::*;
use futures::FutureExt;
use shard_map::{Members, Node, NodeState, Replica};

const WHOLE: ShardRange = ShardRange {
    shard: 1,
    first: 0,
    last: u64::MAX,
};

const fn extent(first: u64, last: u64, epoch: u64) -> Extent {
    Extent { first, last, epoch }
}

/// A version of the map with these shards: number, range, replicas.
fn copy(version: u64, shards: &[(u64, Extent, &[u64])]) -> ShardMap {
    let shard = |(id, extent, replicas): &(u64, Extent, &[u64])| Shard {
        id: *id,
        first: extent.first,
        last: extent.last,
        members: Members {
            epoch: extent.epoch,
            replicas: replicas
                .iter()
                .map(|id| Replica { id: *id, role: 0 })
                .collect(),
            ..Members::default()
        },
    };
    let node = |number: u32, state: NodeState| Node {
        number,
        address: format!("n{number}"),
        state: state.into(),
        ..Node::default()
    };
    ShardMap {
        version,
        shards: shards.iter().map(shard).collect(),
        nodes: vec![node(1, NodeState::Up), node(2, NodeState::Gone)],
        ..ShardMap::default()
    }
}

#[test]
fn a_split_is_one_change() {
    let map = LocalMap::default();
    map.founded(&WHOLE);
    assert!(map.news().now_or_never().is_none());
    let split = [
        (1, extent(0, 9, 1), None),
        (2, extent(10, u64::MAX, 1), Some(1)),
    ];
    map.seeded(&split, Vec::new());
    assert!(map.news().now_or_never().is_some());
    let expected = vec![(1, split[0].1), (2, split[1].1)];
    assert_eq!(map.all(), (3, expected));
    assert_eq!(
        (map.version(), map.parent(2), map.parent(1)),
        (3, Some(1), None)
    );
    // A repeat, and what was before, change nothing.
    map.seeded(&split, Vec::new());
    map.founded(&WHOLE);
    assert!(map.news().now_or_never().is_none());
    assert_eq!(map.extent(1), Some(extent(0, 9, 1)));
}

#[test]
fn what_a_child_became_is_not_taken_back_by_what_its_parent_remembers() {
    let map = LocalMap::default();
    map.learn([(2, extent(10, 14, 2), None)]);
    map.learn([(1, extent(0, 9, 1), None), (2, extent(10, 20, 1), Some(1))]);
    assert_eq!(map.extent(2), Some(extent(10, 14, 2)));
    assert_eq!(map.parent(2), Some(1));
    assert!(map.extent(3).is_none() && map.take_newborn(2).is_none());
}

/// The map is behind a split that a replica here has applied, then ahead of it by a move elsewhere: each knows one thing better.
#[test]
fn the_higher_epoch_is_the_truth_whoever_says_it() {
    let map = LocalMap::default();
    map.founded(&WHOLE);
    map.follow(&copy(1, &[(1, extent(0, u64::MAX, 1), &[1, 2])]));
    assert_eq!(map.version(), 2);
    map.learn([
        (1, extent(0, 9, 2), None),
        (2, extent(10, u64::MAX, 2), Some(1)),
    ]);
    map.follow(&copy(2, &[(1, extent(0, u64::MAX, 1), &[1, 2])]));
    assert_eq!(map.extent(1), Some(extent(0, 9, 2)));
    assert_eq!(
        map.replicas(2),
        [1, 2],
        "its parent's, until the map knows it"
    );
    let halves: [(u64, Extent, &[u64]); 2] = [
        (1, extent(0, 9, 2), &[1, 2]),
        (2, extent(10, u64::MAX, 4), &[2, 3]),
    ];
    map.follow(&copy(3, &halves));
    assert_eq!((map.version(), map.replicas(2)), (7, vec![2, 3]));
    assert_eq!(map.own(), [1, 2]);
    map.left(1);
    assert_eq!(map.own(), [2]);
    map.opened(1);
    map.opened(7);
    assert_eq!(map.own(), [1, 2]);
    map.left(1);
    assert_eq!((map.own(), map.replicas(1)), (vec![2], vec![1, 2]));
}

/// A copy that is older than what was seen says nothing, and one of a map that is not founded neither.
#[test]
fn an_older_copy_of_the_map_says_nothing() {
    let map = LocalMap::default();
    map.follow(&ShardMap::default());
    assert_eq!((map.version(), map.replicas(1)), (1, vec![]));
    map.follow(&copy(5, &[(1, extent(0, u64::MAX, 3), &[4])]));
    map.follow(&copy(4, &[(1, extent(0, u64::MAX, 2), &[1])]));
    assert_eq!((map.version(), map.replicas(1)), (4, vec![4]));
    assert_eq!(
        map.own(),
        [0; 0],
        "the map alone says nothing of what is here"
    );
    assert_eq!(map.addresses(), BTreeMap::from([(1, "n1".to_owned())]));
    assert_eq!(
        (map.address(1).as_deref(), map.address(2)),
        (Some("n1"), None)
    );
}

/// The parent left this node, its child stayed, and the node starts before it hears of a map: the founding says that the parent has
/// everything, and the child's rows know better.
#[test]
fn a_child_without_its_parent_owns_what_it_has() {
    let map = LocalMap::default();
    map.founded(&WHOLE);
    map.learn([
        (7, extent(50, 59, 4), None),
        (9, extent(60, u64::MAX, 4), None),
    ]);
    let owned = [
        (1, extent(0, 49, 0)),
        (7, extent(50, 59, 4)),
        (9, extent(60, u64::MAX, 4)),
    ];
    assert_eq!(map.all(), (9, owned.to_vec()));
    map.founded(&WHOLE);
    assert_eq!(map.extent(1), Some(extent(0, 49, 0)));
}
