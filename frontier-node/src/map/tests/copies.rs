//! Nodes without a replica of group 0: they have the map, change it, and get a replica when the map says so.

use std::collections::BTreeSet;
use std::sync::Arc;

use proto::admin_v1 as pb;
use shard_map::{Body, GROUP_ZERO, Replica, ShardMap, Step, command::MoveReplica};

use super::cluster::{Cluster, split_at};
use super::fake_shards::FakeShards;
use crate::cluster::node_number;
use crate::map::Shaper;

/// The nodes that have a replica of group 0 open.
fn with_zero(cluster: &Cluster) -> BTreeSet<u32> {
    let has = |node: &&u32| cluster.up[*node].node.map().unwrap().zero().is_some();
    cluster.up.keys().filter(has).copied().collect()
}

/// The nodes that the map gives group 0.
fn of_map(map: &ShardMap) -> BTreeSet<u32> {
    map.group_zero.voters().map(Replica::node).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_group_zero_has_the_map_and_changes_it() {
    let shards: Arc<dyn Shaper> = Arc::new(FakeShards::default());
    let mut cluster = Cluster::placed(5, 2, 3, Some(shards)).await;
    let map = cluster.view(1);
    assert_eq!((map.replica_target, map.nodes.len()), (3, 5));
    let zero = with_zero(&cluster);
    assert_eq!((zero.len(), &zero), (3, &of_map(&map)));
    for node in 1..=5 {
        let of_node = cluster.up[&node].node.shards();
        let of_map = map.shards.iter().filter(|s| s.members.is_on(node));
        let of_map: Vec<u64> = of_map.map(|shard| shard.id).collect();
        assert_eq!(of_node, of_map, "node {node} founded what the map gives it");
    }
    let without = *cluster.up.keys().find(|node| !zero.contains(node)).unwrap();
    let job = cluster
        .split(without, split_at(7, 1, 99))
        .await
        .unwrap()
        .job;
    cluster.wait_ended(job).await;
    let map = cluster.view(without);
    assert_eq!(map.job(job).unwrap().step(), Step::Done);
    // It is told so again after a restart, during which the map changes once more.
    cluster.kill(without).await;
    let with = *zero.first().unwrap();
    let job = cluster
        .split(with, split_at(8, 2, u64::MAX))
        .await
        .unwrap()
        .job;
    cluster.wait_ended(job).await;
    cluster.start_node(u64::from(without)).await;
    let newest = cluster.view(with);
    cluster
        .wait_views("the newest map", |map| *map == *newest)
        .await;
    // What is acknowledged it finds at once, however far its own copy is.
    let begun = cluster.split(with, split_at(9, 1, 50)).await.unwrap();
    let found = cluster.up[&without].node.map().unwrap().newest().await;
    assert!(found.unwrap().map.job(begun.job).is_some());
    cluster.wait_ended(begun.job).await;
    let newest = cluster.view(without);
    let mut admin = cluster.admin(without);
    let status = admin.status(pb::StatusRequest { local: false });
    let copy = status.await.unwrap().into_inner().copy.unwrap();
    assert_eq!((copy.version, copy.proven), (newest.version, false));
    cluster.close_all().await;
}

/// case L22: one that was removed comes back only under a later id. The replica that is retired is removed, and the node it was on still has the map.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_of_group_zero_comes_and_goes_with_the_map() {
    let mut cluster = Cluster::placed(5, 1, 3, None).await;
    let map = cluster.view(1);
    let leader = cluster.leader().await;
    let from = *of_map(&map).iter().find(|node| **node != leader).unwrap();
    let to = (1..=5).find(|node| !of_map(&map).contains(node)).unwrap();
    for (from, to, id) in [
        (from, to, u64::from(to)),
        (to, from, (1 << 16) | u64::from(from)),
    ] {
        let (map, node) = (
            cluster.view(leader),
            cluster.up[&leader].node.map().unwrap(),
        );
        let moved = MoveReplica {
            shard: GROUP_ZERO,
            epoch: map.group_zero.epoch,
            from,
            to,
            ..MoveReplica::default()
        };
        node.change(&Body::MoveReplica(moved).into()).await.unwrap();
        let is_moved = |map: &ShardMap| {
            map.group_zero.voter_on(to).is_some_and(|own| own.0 == id)
                && map.running_jobs().next().is_none()
        };
        cluster.wait_views("the move", is_moved).await;
        let is_removed = |cluster: &Cluster| !with_zero(cluster).contains(&from);
        cluster
            .wait("the removal", |cluster| is_removed(cluster).then_some(()))
            .await;
        assert_eq!(with_zero(&cluster), of_map(&cluster.view(from)));
        let zero = cluster.up[&to].node.map().unwrap().zero().unwrap();
        assert_eq!((zero.replica(), node_number(id)), (id, to));
    }
    // What was removed and came back is there after a restart.
    cluster.close_all().await;
    cluster.start_all().await;
    cluster.wait_views("the map", ShardMap::is_founded).await;
    assert_eq!(with_zero(&cluster), of_map(&cluster.view(from)));
    cluster.close_all().await;
}
