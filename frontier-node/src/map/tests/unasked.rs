//! What begins by itself: drains, replacements, shares, leader balance, splits.

use std::collections::BTreeSet;
use std::sync::Arc;

use proto::admin_v1 as pb;
use shard_map::{Body, NodeState, Plan, ShardMap, Step, command::WishLeader};

use super::cluster::{Cluster, answer};
use super::fake_shards::{FakeShards, Kind, Point};
use super::moves::{cluster_of_four, join};
use crate::map::{ShapeRules, Shaper, Weight};

/// Shards 1 to 4 and group 0 on nodes 1 to 3, led by node 1.
fn five_groups(shards: Arc<FakeShards>) -> Arc<FakeShards> {
    let all: &[u64] = &[1, 2, 3];
    shards.with_groups(&[(0, all), (1, all), (2, all), (3, all), (4, all)])
}

/// Nothing but what is asked for.
fn no_shares() -> ShapeRules {
    ShapeRules {
        balance_patience_ms: 3_600_000,
        ..ShapeRules::default()
    }
}

async fn started(shards: &Arc<FakeShards>, rules: ShapeRules) -> Cluster {
    let shaper = Arc::clone(shards) as Arc<dyn Shaper>;
    Cluster::start_with(3, 4, Some(shaper), rules).await
}

async fn drain(cluster: &Cluster, node: u32) -> u64 {
    let asked = *cluster.up.keys().next().unwrap();
    let request = pb::DrainRequest { request: 5, node };
    let answered = cluster.admin(asked).drain(request).await.unwrap();
    answer(answered.into_inner()).unwrap().job
}

fn moves_under_way(map: &ShardMap) -> usize {
    let is_move = |plan: &Option<Plan>| matches!(plan, Some(Plan::Move(_)));
    map.running_jobs().filter(|job| is_move(&job.plan)).count()
}

/// A joined node gets its share, and then nothing moves any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_joins_gets_its_share_and_no_more() {
    let shards = five_groups(Arc::default());
    let cluster = started(&shards, no_shares()).await;
    join(&cluster, 4).await;
    // 15 replicas on four nodes.
    let has_share = |map: &ShardMap| map.replicas_on(4) == 3 && moves_under_way(map) == 0;
    cluster.wait_views("the share of node 4", has_share).await;
    let version = cluster.view(1).version;
    tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
    let map = cluster.view(1);
    assert_eq!(map.version, version, "nothing more is moved");
    let counts: Vec<usize> = (1..=4).map(|node| map.replicas_on(node)).collect();
    assert!(
        counts.iter().all(|count| (3..=5).contains(count)),
        "{counts:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_empties_a_node_whoever_drives_it() {
    let shards = five_groups(FakeShards::holding(Point::After(Kind::Vote)));
    let mut cluster = started(&shards, no_shares()).await;
    join(&cluster, 4).await;
    shards.held().await;
    let job = drain(&cluster, 1).await;
    let driver = cluster.leader().await;
    cluster.kill(driver).await;
    cluster.wait_ended(job).await;
    let asked = *cluster.up.keys().next().unwrap();
    let map = cluster.view(asked);
    assert_eq!(map.job(job).unwrap().step(), Step::Done);
    assert_eq!(map.node(1).unwrap().state(), NodeState::Draining);
    assert_eq!(map.replicas_on(1), 0);
    for group in 0..=4 {
        let members = map.members(group).unwrap();
        assert_eq!(members.voters().count(), 3, "group {group}");
        let fake = shards.group(group);
        assert!(!fake.voters.contains(&1) && fake.learners.is_empty());
    }
    // Leaders went first: no group was left by its leader.
    let handed: BTreeSet<u64> = shards.handed_over().into_iter().map(|(g, _)| g).collect();
    assert_eq!(handed, BTreeSet::from([0, 1, 2, 3, 4]));
    // It may have replicas again.
    let mut admin = cluster.admin(asked);
    let undrained = admin.undrain(pb::UndrainRequest { node: 1 });
    answer(undrained.await.unwrap().into_inner()).unwrap();
    let is_up = |map: &ShardMap| map.node(1).unwrap().state() == NodeState::Up;
    cluster.wait_views("node 1 in its place", is_up).await;
    cluster.close_all().await;
}

/// A node that must not go: the last ones that hold what there is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_that_leaves_too_few_nodes_is_refused() {
    let shards = five_groups(Arc::default());
    let cluster = started(&shards, no_shares()).await;
    let before = cluster.view(1);
    let ask = |node| {
        let mut admin = cluster.admin(2);
        async move {
            let request = pb::DrainRequest { request: 9, node };
            answer(admin.drain(request).await.unwrap().into_inner()).unwrap_err()
        }
    };
    assert_eq!(ask(3).await, "2 nodes would be left, and the groups need 3");
    assert_eq!(ask(7).await, "no node 7");
    let mut admin = cluster.admin(2);
    let leave = admin.leave(pb::LeaveRequest { node: 3 });
    let said = answer(leave.await.unwrap().into_inner()).unwrap_err();
    assert_eq!(said, "node 3 has 5 replicas");
    assert_eq!(*cluster.view(1), *before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_silent_for_too_long_is_replaced() {
    let shards = five_groups(Arc::default());
    let rules = ShapeRules {
        replace_after_ms: 2_000,
        ..no_shares()
    };
    let cluster = started(&shards, rules).await;
    join(&cluster, 4).await;
    let has_share = |map: &ShardMap| map.replicas_on(4) == 3 && moves_under_way(map) == 0;
    cluster.wait_views("the share of node 4", has_share).await;
    for group in 0..=4 {
        shards.alter(group, |fake| fake.leader = 1);
    }
    shards.silence(3);
    let is_gone = |map: &ShardMap| map.node(3).unwrap().state() == NodeState::Gone;
    cluster.wait_views("the end of node 3", is_gone).await;
    let map = cluster.view(2);
    for (group, members) in map.groups() {
        let nodes: BTreeSet<u32> = members.voters().map(|r| r.node()).collect();
        assert_eq!(nodes, BTreeSet::from([1, 2, 4]), "group {group}");
    }
}

/// Off by default: a node may be away for as long as it likes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_node_is_not_replaced_unless_that_was_asked_for() {
    let shards = five_groups(Arc::default());
    let cluster = cluster_of_four(&shards, no_shares()).await;
    let has_share = |map: &ShardMap| map.replicas_on(4) > 0 && moves_under_way(map) == 0;
    cluster.wait_views("the share of node 4", has_share).await;
    shards.silence(3);
    tokio::time::sleep(std::time::Duration::from_millis(3_000)).await;
    let map = cluster.view(1);
    assert_eq!(map.node(3).unwrap().state(), NodeState::Up);
    assert!(map.running_jobs().next().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uneven_leaders_are_handed_over_after_a_while_and_wishes_at_once() {
    let shards = five_groups(Arc::default());
    let rules = ShapeRules {
        balance_patience_ms: 2_000,
        ..ShapeRules::default()
    };
    let cluster = started(&shards, rules).await;
    let wish = WishLeader { shard: 2, node: 3 };
    cluster.change(Body::WishLeader(wish)).await;
    cluster
        .wait("the wished leader", |_| {
            (shards.group(2).leader == 3).then_some(())
        })
        .await;
    let led = |node: u64| (0..=4).filter(|g| shards.group(*g).leader == node).count();
    cluster
        .wait("an even share of leaders", |_| {
            (1..=3)
                .all(|node| (1..=2).contains(&led(node)))
                .then_some(())
        })
        .await;
    assert_eq!(shards.group(2).leader, 3, "the wish stays");
    let handed_over = shards.handed_over();
    tokio::time::sleep(std::time::Duration::from_millis(3_500)).await;
    assert_eq!(shards.handed_over(), handed_over, "nothing goes to and fro");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_grew_too_large_is_split_until_it_has_one_site() {
    let shards = Arc::new(FakeShards::default()).with_groups(&[(1, &[1, 2, 3])]);
    let large = |middle| Weight {
        size_bytes: 1_000,
        middle,
    };
    shards.weighs(1, large(Some(1 << 40)));
    shards.weighs(2, large(None));
    let rules = ShapeRules::default().splitting_above(500, 0);
    let shaper = Arc::clone(&shards) as Arc<dyn Shaper>;
    let cluster = Cluster::start_with(3, 1, Some(shaper), rules).await;
    let is_split = |map: &ShardMap| map.shards.len() == 2 && map.running_jobs().next().is_none();
    cluster.wait_views("the split", is_split).await;
    shards.weighs(1, large(None));
    let map = cluster.view(3);
    let ranges: Vec<_> = map.shards.iter().map(|s| (s.id, s.first)).collect();
    assert_eq!(ranges, [(1, 0), (2, 1 << 40)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pins_are_followed() {
    let shards = five_groups(Arc::default());
    let cluster = cluster_of_four(&shards, no_shares()).await;
    let request = pb::PinRequest {
        shard: 1,
        nodes: vec![1, 2, 4],
    };
    let pinned = cluster.admin(2).pin(request).await.unwrap();
    answer(pinned.into_inner()).unwrap();
    let is_there = |map: &ShardMap| {
        let members = map.members(1).unwrap();
        let nodes: BTreeSet<u32> = members.voters().map(|r| r.node()).collect();
        nodes == BTreeSet::from([1, 2, 4]) && moves_under_way(map) == 0
    };
    cluster.wait_views("the pinned replicas", is_there).await;
    let mut admin = cluster.admin(1);
    let shown = admin.shards(pb::ShardsRequest { local: true });
    let shown = shown.await.unwrap().into_inner().shards;
    assert_eq!(shown[1].pinned, [1, 2, 4]);
}
