//! Founding, restarts, directories of before, hand-overs.

use proto::admin_v1 as pb;
use shard_map::ShardMap;

use super::cluster::Cluster;
use crate::identity::ShardRange;
use crate::limits::UPKEEP_INTERVAL_MS;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_found_one_map_of_their_descriptor() {
    let cluster = Cluster::start(3, 4, None).await;
    let map = cluster.view(1);
    let descriptor = cluster.descriptor();
    assert_eq!((map.version, map.cluster_id), (1, descriptor.cluster_id));
    let ranges = map.shards.iter().map(|s| ShardRange {
        shard: s.id,
        first: s.first,
        last: s.last,
    });
    assert_eq!(ranges.collect::<Vec<_>>(), descriptor.shards);
    for (group, members) in map.groups() {
        let voters: Vec<u64> = members.voters().map(|r| r.id).collect();
        assert_eq!(voters, [1, 2, 3], "group {group}");
    }
    let leader = cluster.leader().await;
    let mut proofs = Vec::new();
    for node in 1..=3 {
        let mut admin = cluster.admin(node);
        let answer = admin.status(pb::StatusRequest { local: false }).await;
        let answer = answer.unwrap().into_inner();
        let copy = answer.copy.unwrap();
        assert_eq!((copy.node, copy.version, copy.leader), (node, 1, leader));
        assert_eq!(answer.cluster_id, descriptor.cluster_id);
        assert_eq!(answer.not_founded, "");
        proofs.push(copy.proven);
        // The raw map reads as what it is.
        let raw = admin.map(pb::MapRequest { local: true }).await.unwrap();
        let raw = raw.into_inner().map;
        assert_eq!(ShardMap::from_bytes(&raw).unwrap(), *map);
        let nodes = admin.nodes(pb::NodesRequest { local: true }).await.unwrap();
        let nodes = nodes.into_inner().nodes;
        assert_eq!(nodes.len(), 3);
        assert!(nodes.iter().all(|n| n.replicas == 5 && n.linked));
    }
    let proven = (1..=3).map(|node| node == leader);
    assert_eq!(proofs, proven.collect::<Vec<_>>(), "only the leader proves");
    let mut admin = cluster.admin(1);
    let shards = admin.shards(pb::ShardsRequest { local: true }).await;
    let shards = shards.unwrap().into_inner().shards;
    let ids: Vec<u64> = shards.iter().map(|s| s.shard).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_keeps_the_map_and_founds_no_second_one() {
    let mut cluster = Cluster::start(3, 2, None).await;
    let before = cluster.view(1);
    for _ in 0..2 {
        cluster.close_all().await;
        cluster.start_all().await;
        cluster.leader().await;
        cluster
            .wait_views("the old map", |map| *map == *before)
            .await;
    }
    cluster.close_all().await;
}

/// An idle node with many shards must cost next to nothing, and group 0 is one group more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_group_zero_writes_nothing() {
    let cluster = Cluster::start(3, 1, None).await;
    let leader = cluster.leader().await;
    let log = |node: u32| {
        let status = cluster.up[&node]
            .node
            .map()
            .unwrap()
            .zero()
            .unwrap()
            .group()
            .status();
        (status.term, status.last_log_index)
    };
    let before = log(leader);
    // Longer than the leader waits between two looks at the nodes.
    tokio::time::sleep(std::time::Duration::from_millis(2 * UPKEEP_INTERVAL_MS)).await;
    let after = log(cluster.leader().await);
    // Only an election makes an entry by itself.
    assert_eq!(after.1 - before.1, after.0 - before.0);
    assert_eq!(cluster.view(leader).version, 1);
}

/// A cluster that was founded by a program without group 0 gets one when it is opened; node by node, as in an upgrade.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directories_of_before_get_their_group_zero() {
    let mut cluster = Cluster::of_before(3, 3).await;
    cluster.start_node(1).await;
    assert!(!cluster.view(1).is_founded(), "one of three founds nothing");
    cluster.start_node(3).await;
    cluster.wait_founded().await;
    cluster.start_node(2).await;
    cluster.wait_founded().await;
    let map = cluster.view(2);
    assert_eq!((map.version, map.shards.len()), (1, 3));
    let shards = cluster.up[&2].node.groups();
    assert_eq!(shards.len(), 4);
    cluster.close_all().await;
}

/// Most of the founders' first disks, which would be the voters of group 0, are gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_of_before_without_a_quorum_for_group_zero_says_so() {
    let mut cluster = Cluster::of_before(3, 1).await;
    cluster.wipe(2);
    cluster.wipe(3);
    cluster.start_all().await;
    for node in 1..=3 {
        let mut admin = cluster.admin(node);
        let status = admin.status(pb::StatusRequest { local: true }).await;
        let status = status.unwrap().into_inner();
        assert!(
            status.not_founded.contains("lost their first disk"),
            "{status:?}"
        );
        assert_eq!(status.copy.unwrap().version, 0);
    }
    cluster.close_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_of_one_has_a_map_too() {
    let mut cluster = Cluster::start(1, 2, None).await;
    let map = cluster.view(1);
    assert_eq!((map.replica_target, map.nodes.len()), (1, 1));
    cluster.close_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_are_handed_over_by_name_and_nonsense_is_refused() {
    let cluster = Cluster::start(3, 1, None).await;
    for group in [0, 1] {
        let asked = cluster.follower().await;
        let led_by = |node: u32| {
            let mut groups = cluster.up[&node].node.groups().into_iter();
            let group = groups.find(|g| g.group_id() == group).unwrap();
            group.status().is_leader
        };
        let leader = cluster
            .wait("a leader", |_| (1..=3).find(|node| led_by(*node)))
            .await;
        let to = leader % 3 + 1;
        // A voter that is behind for a moment is asked for again.
        for _ in 0..50 {
            let request = pb::TransferLeaderRequest {
                shard: group,
                node: to,
            };
            let answer = cluster.admin(asked).transfer_leader(request).await;
            let is_asked = answer.is_ok_and(|answer| answer.into_inner().refused.is_empty());
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            if is_asked && led_by(to) {
                break;
            }
        }
        assert!(led_by(to), "group {group}");
    }
    let refusal = async |shard, node| {
        let request = pb::TransferLeaderRequest { shard, node };
        let answer = cluster.admin(2).transfer_leader(request).await.unwrap();
        answer.into_inner().refused
    };
    assert_eq!(refusal(9, 1).await, "no shard 9");
    assert_eq!(refusal(1, 9).await, "no node 9");
}
