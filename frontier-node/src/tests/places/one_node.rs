//! One node that is told of a map: what it opens, makes, removes and leaves alone.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use client::CallError;
use proto::frontier_v1 as pb;

use super::super::splits::held::{Held, image};
use super::super::support::*;
use super::*;
use crate::limits::OPEN_RETRY_MS;
use crate::{FrontierNode, NodeOptions, SplitRequest};

const AT: u64 = 1 << 63;
const CHILD: u64 = 2;

fn told_options(dir: &Path, teller: &Teller) -> NodeOptions {
    NodeOptions {
        views: Some(teller.subscribe()),
        ..options(dir, 1)
    }
}

/// A node that leads its one shard.
async fn start(dir: &Path) -> (FrontierNode, Teller) {
    let teller = Teller::new(MapView::default());
    let node = open(told_options(dir, &teller)).await;
    (node, teller)
}

fn tell(teller: &Teller, version: u64, shards: &[Placed]) {
    teller.send_replace(view(&map(version, shards)));
}

/// How many rows are left in the node's state; none is known while the disk fails.
fn rows(node: &FrontierNode) -> Option<usize> {
    let all = raftlog::KeyRange::new(vec![0], vec![0xff; 9]);
    let rows = node.engine().state().scan(&all, 1_000);
    rows.ok().map(|rows| rows.len())
}

/// The host whose partition is below or above [`AT`], and its first page.
fn host(is_high: bool) -> (String, String) {
    let mut hosts = (0..99).map(|i| format!("w.s{i}.example"));
    let of = |host: &String| partition(&format!("http://{host}/"));
    let host = hosts.find(|host| (of(host) >= AT) == is_high).unwrap();
    let page = format!("http://{host}/1");
    (host, page)
}

async fn accepted(node: &FrontierNode, shard: u64) -> u64 {
    status(&node.frontier(), shard)
        .await
        .terms
        .unwrap()
        .accepted
}

fn not_here(map_version: u64) -> CallError {
    CallError::NotHere {
        map_version,
        replica_addresses: vec!["n2".to_owned()],
    }
}

/// A poll that waits on a shard when the map takes it away is sent where the shard is; so is every call after it. Nothing of the
/// replica stays, and a restart does not bring it back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_goes_and_its_parked_polls_end_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let (node, teller) = start(dir.path()).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    frontier.lease(lease_request(SHARD, 1, 0)).await.unwrap();
    let parked = tokio::spawn({
        let frontier = Arc::clone(&frontier);
        async move { frontier.lease(lease_request(SHARD, 2, 60_000)).await }
    });
    let shard = node.shared().shard(SHARD).unwrap();
    until("it is parked", || shard.parking().len() == 1).await;
    assert!(rows(&node) > Some(0));
    tell(&teller, 7, &[whole(4, &[2], &[1, 2])]);
    let answer = tokio::time::timeout(Duration::from_secs(30), parked).await;
    let answer = answer.expect("it waits on").unwrap();
    assert_eq!(answer.unwrap_err(), not_here(5));
    let next = frontier.lease(lease_request(SHARD, 3, 0)).await;
    assert_eq!(next.unwrap_err(), not_here(5));
    let kept = shard.look(|_, _, _| ()).await;
    assert_eq!(
        kept.unwrap_err(),
        not_here(5),
        "whoever held it reads nothing any more"
    );
    until("it is removed", || node.engine().group(SHARD).is_none()).await;
    until("its rows are gone", || rows(&node) == Some(0)).await;
    let request = pb::ShardStatusRequest { shard: SHARD };
    let status = frontier.shard_status(request).await;
    assert_eq!(status.unwrap_err(), not_here(5));
    let listed = frontier.shard_map(pb::ShardMapRequest {}).await.unwrap();
    assert_eq!(listed.shards[0].replica_addresses, ["n2"]);
    assert_eq!(
        (listed.version, listed.node_addresses),
        (5, vec!["n1".into(), "n2".into()])
    );
    node.close().await;

    // The founding says that it has the shard, and the tombstone that it has not.
    let node = FrontierNode::open(told_options(dir.path(), &teller))
        .await
        .unwrap();
    assert_eq!((node.shards(), node.known_shards()), (vec![], vec![]));
    assert!(
        node.engine()
            .created_groups()
            .await
            .unwrap()
            .iter()
            .all(|group| *group == 0)
    );
    node.close().await;
}

/// case L22: a node that removed its replica starts with a copy of the map from before that, which names it: the tombstone says no, and no
/// other shard waits for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_copy_of_the_map_brings_nothing_back() {
    let dir = tempfile::tempdir().unwrap();
    let (node, teller) = start(dir.path()).await;
    let part = |epoch, replicas: &[u64]| Placed {
        range: (0, AT),
        ..whole(epoch, replicas, &[1, 2])
    };
    tell(&teller, 7, &[part(4, &[2])]);
    until("it is removed", || node.engine().group(SHARD).is_none()).await;
    node.close().await;
    let other = Placed {
        shard: 9,
        range: (AT + 1, u64::MAX),
        ..whole(1, &[1], &[1])
    };
    tell(&teller, 6, &[part(3, &[1, 2]), other]);
    let node = FrontierNode::open(told_options(dir.path(), &teller)).await;
    let node = node.unwrap();
    until("the other one is made", || node.shards() == [9]).await;
    let asked = node.frontier().lease(lease_request(SHARD, 1, 0)).await;
    assert!(asked.unwrap_err().is_retryable());
    node.close().await;
}

/// The node comes back to a shard that it left, under the id that was issued for it. It restarts and finds a copy of the map from
/// before that, which says that the replica before is gone: that takes nothing away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_copy_of_the_map_never_removes_a_living_replica() {
    let dir = tempfile::tempdir().unwrap();
    let (node, teller) = start(dir.path()).await;
    let part = |epoch, replicas: &[u64], issued: &[u64]| Placed {
        range: (1, u64::MAX),
        ..whole(epoch, replicas, issued)
    };
    let back = id(1, 0, 1);
    tell(&teller, 7, &[part(4, &[2], &[1, 2])]);
    until("it is removed", || node.engine().group(SHARD).is_none()).await;
    tell(&teller, 8, &[part(5, &[2, back], &[back, 2])]);
    until("it is back", || node.shards() == [SHARD]).await;
    node.close().await;

    tell(&teller, 7, &[part(4, &[2], &[1, 2])]);
    let node = FrontierNode::open(told_options(dir.path(), &teller)).await;
    let node = node.unwrap();
    let shard = node.shared().shard(SHARD).unwrap();
    assert_eq!(shard.replica(), back);
    until("it has the old copy", || node.shared().map_version() == 5).await;
    let other = Placed {
        shard: 9,
        range: (0, 0),
        ..whole(1, &[1], &[1])
    };
    tell(&teller, 9, &[other, part(5, &[2, back], &[back, 2])]);
    until("it is done with the old copy", || {
        node.shards() == [SHARD, 9]
    })
    .await;
    let still = node.shared().shard(SHARD).unwrap();
    assert!(Arc::ptr_eq(&shard, &still), "it was never away");
    node.close().await;

    let node = FrontierNode::open(told_options(dir.path(), &teller)).await;
    let node = node.unwrap();
    assert_eq!(
        node.shards(),
        [SHARD, 9],
        "all that was created and not removed"
    );
    node.close().await;
}

/// The map takes a parent away whose child was seeded and not made yet: the child is made first, and keeps its rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_goes_and_its_child_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (node, teller) = start(dir.path()).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let ((_, low), (high_host, high)) = (host(false), host(true));
    discover(&frontier, SHARD, vec![link(&low), link(&high)]).await;
    let request = SplitRequest {
        shard: SHARD,
        epoch: 3,
        at: AT,
        child: CHILD,
        voters: [1].into(),
    };
    node.split_shard(request).await.unwrap();
    let parent = Placed {
        range: (0, AT - 1),
        ..whole(6, &[2], &[1, 2])
    };
    // The child is not in the map yet.
    tell(&teller, 7, &[parent]);
    until("the parent is gone", || {
        node.shards() == [CHILD] && node.engine().group(SHARD).is_none()
    })
    .await;
    until("the child is led", || {
        node.shard_standing(CHILD)
            .is_some_and(|standing| standing.is_proven)
    })
    .await;
    assert_eq!(accepted(&node, CHILD).await, 1);
    let found = frontier
        .get_host(pb::GetHostRequest {
            shard: CHILD,
            host: high_host,
            partition: partition(&high),
            local: false,
        })
        .await;
    assert_eq!(found.unwrap().record.unwrap().queued, 1);
    node.close().await;
    let node = open(told_options(dir.path(), &teller)).await;
    assert_eq!(
        (node.shards(), accepted(&node, CHILD).await),
        (vec![CHILD], 1)
    );
    node.close().await;
}

/// The map names a child here whose parent's replica has not applied the split: no empty replica is made of it, since its rows come
/// with the parent's entry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_waits_for_its_parent_to_apply_the_split() {
    let dir = tempfile::tempdir().unwrap();
    let (node, teller) = start(dir.path()).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let (_, high) = host(true);
    discover(&frontier, SHARD, vec![link(&high)]).await;
    let halves = |epoch| {
        let half = |shard, range| Placed {
            shard,
            range,
            ..whole(epoch, &[1], &[1])
        };
        [half(SHARD, (0, AT - 1)), half(CHILD, (AT, u64::MAX))]
    };
    tell(&teller, 7, &halves(4));
    until("it has heard of the child", || {
        node.shared().map_version() == 9
    })
    .await;
    let asked = frontier
        .lease(lease_request(CHILD, 1, 0))
        .await
        .unwrap_err();
    assert!(asked.to_string().contains("being opened"), "{asked}");
    assert_eq!(node.shards(), [SHARD]);
    let request = SplitRequest {
        shard: SHARD,
        epoch: 3,
        at: AT,
        child: CHILD,
        voters: [1].into(),
    };
    node.split_shard(request).await.unwrap();
    until("the child is led", || {
        node.shard_standing(CHILD)
            .is_some_and(|standing| standing.is_proven)
    })
    .await;
    assert_eq!(accepted(&node, CHILD).await, 1);
    node.close().await;
}

/// case L17: a node on a new disk has nothing and makes nothing of the founding: it is the map that says what it gets ready for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wiped_node_gets_ready_for_what_the_map_says_it_had() {
    let dir = tempfile::tempdir().unwrap();
    let teller = Teller::new(MapView::default());
    let process = id(1, 1, 0);
    let node = NodeOptions {
        node_id: process,
        ..told_options(dir.path(), &teller)
    };
    let node = FrontierNode::open(node).await.unwrap();
    assert_eq!((node.shards(), node.known_shards()), (vec![], vec![]));
    let elsewhere = Placed {
        shard: 2,
        range: (9, 9),
        ..whole(3, &[2], &[1, 2])
    };
    let had = Placed {
        range: (10, u64::MAX),
        ..whole(3, &[1, 2], &[1, 2])
    };
    tell(&teller, 7, &[elsewhere, had]);
    until("it is ready", || node.shards() == [SHARD]).await;
    let shard = node.shared().shard(SHARD).unwrap();
    assert_eq!(
        (shard.replica(), node.known_shards()),
        (process, vec![SHARD])
    );
    node.close().await;
}

/// The disk refuses a removal: the replica is out of use all the same, and is removed when the disk takes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_that_the_disk_refuses_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let teller = Teller::new(MapView::default());
    let disk = Arc::new(FullDisk::default());
    let mut options = told_options(dir.path(), &teller);
    options.engine.faults = Some(Arc::clone(&disk) as Arc<dyn raftlog::FaultHook>);
    let node = open(options).await;
    disk.0.store(true, Ordering::SeqCst);
    tell(&teller, 7, &[whole(4, &[2], &[1, 2])]);
    until("it is out of use", || node.shards().is_empty()).await;
    let asked = node.frontier().lease(lease_request(SHARD, 1, 0)).await;
    assert_eq!(asked.unwrap_err(), not_here(5));
    // The engine tries the disk again and again, and so does the keeper.
    tokio::time::sleep(Duration::from_millis(2 * OPEN_RETRY_MS)).await;
    assert_ne!(rows(&node), Some(0));
    disk.0.store(false, Ordering::SeqCst);
    until("it is removed", || rows(&node) == Some(0)).await;
    until("and known to be", || node.known_shards().is_empty()).await;
    node.close().await;
}

/// The power goes after the tombstone is written and before the rows are deleted: the removal is finished before anything opens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_that_a_power_cut_ended_is_finished_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let teller = Teller::new(MapView::default());
    let held = Arc::new(Held::default());
    let mut options = told_options(dir.path(), &teller);
    options.engine.faults = Some(Arc::clone(&held) as Arc<dyn raftlog::FaultHook>);
    let node = open(options).await;
    held.writes.store(true, Ordering::SeqCst);
    tell(&teller, 7, &[whole(4, &[2], &[1, 2])]);
    let engine = node.engine();
    while engine.created_groups().await.unwrap().contains(&SHARD) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(rows(&node) > Some(0), "the tombstone comes first");
    let after = image(dir.path());
    held.writes.store(false, Ordering::SeqCst);
    node.close().await;

    // It has not heard of the map again.
    let teller = Teller::new(MapView::default());
    let node = FrontierNode::open(told_options(after.path(), &teller)).await;
    let node = node.unwrap();
    assert_eq!((node.shards(), rows(&node)), (vec![], Some(0)));
    node.close().await;
}
