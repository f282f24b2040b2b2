//! Moves whose driver dies at each of their steps, and moves that cannot be finished.

use std::collections::BTreeSet;
use std::sync::Arc;

use proto::admin_v1 as pb;
use raftlog::NodeId;
use shard_map::{Body, Node, NodeState, ReplicaId, ShardMap, Step, command::Join};

use super::cluster::{Cluster, answer};
use super::fake_shards::{FakeShards, Kind, Point};
use crate::map::{MemberChange, MemberOrder, ShapeRules, Shaper};

/// Nothing begins by itself.
fn quiet() -> ShapeRules {
    ShapeRules {
        moves_at_once: 0,
        ..ShapeRules::default()
    }
}

/// A move is given up soon.
fn impatient() -> ShapeRules {
    ShapeRules {
        move_patience_ms: 1_200,
        ..quiet()
    }
}

/// Three nodes, a fourth one in the map only, and shard 1 on the three of them.
pub(super) async fn cluster_of_four(shards: &Arc<FakeShards>, rules: ShapeRules) -> Cluster {
    let shaper = Arc::clone(shards) as Arc<dyn Shaper>;
    let cluster = Cluster::start_with(3, 1, Some(shaper), rules).await;
    join(&cluster, 4).await;
    cluster
}

/// Enters a node in the map.
pub(super) async fn join(cluster: &Cluster, number: u32) {
    let map = cluster.view(*cluster.up.keys().next().unwrap());
    let mut node = Node {
        number,
        address: format!("127.0.0.1:{number}"),
        holds_shards: true,
        ..Node::default()
    };
    node.set_state(NodeState::Up);
    let join = Join {
        cluster_id: map.cluster_id,
        identity: map.identity,
        node,
    };
    cluster.change(Body::Join(join)).await;
    let is_in = |map: &ShardMap| map.node(number).is_some();
    cluster.wait_views("the node in the map", is_in).await;
}

fn of_three(shards: Arc<FakeShards>) -> Arc<FakeShards> {
    shards.with_groups(&[(1, &[1, 2, 3]), (0, &[1, 2, 3])])
}

fn from_3_to_4(request: u64) -> pb::MoveRequest {
    pb::MoveRequest {
        request,
        shard: 1,
        epoch: 0,
        from: 3,
        to: 4,
        pin: false,
    }
}

async fn begin(cluster: &Cluster, node: u32, request: pb::MoveRequest) -> u64 {
    let answered = cluster.admin(node).r#move(request).await.unwrap();
    answer(answered.into_inner()).unwrap().job
}

fn voters(map: &ShardMap) -> Vec<NodeId> {
    let members = map.members(1).unwrap();
    assert_eq!(members.voters().count(), members.replicas.len());
    members.voters().map(|replica| replica.id).collect()
}

/// The driver dies at a point; another one finishes, and the first comes back to the same map.
async fn killed_at(point: Point) {
    let shards = of_three(FakeShards::holding(point));
    let mut cluster = cluster_of_four(&shards, quiet()).await;
    let follower = cluster.follower().await;
    let job = begin(&cluster, follower, from_3_to_4(7)).await;
    shards.held().await;
    let driver = cluster.leader().await;
    cluster.kill(driver).await;
    cluster.wait_ended(job).await;
    let map = cluster.view(*cluster.up.keys().next().unwrap());
    assert_eq!(map.job(job).unwrap().step(), Step::Done, "{point:?}");
    assert_eq!(voters(&map), [1, 2, 4], "{point:?}");
    let removed = map.members(1).unwrap().newest_issued(3);
    assert_eq!(removed, Some(ReplicaId(3)), "its tombstone");
    let group = shards.group(1);
    assert_eq!(group.voters, BTreeSet::from([1, 2, 4]), "{point:?}");
    assert!(group.learners.is_empty(), "{point:?}");
    cluster.start_node(u64::from(driver)).await;
    let is_same = |view: &ShardMap| *view == *map;
    cluster.wait_views("the old driver's copy", is_same).await;
    cluster.close_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_while_the_new_node_makes_its_replica() {
    killed_at(Point::AtMade).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_before_the_learner_is_added() {
    killed_at(Point::Before(Kind::Add)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_after_the_learner_was_added() {
    killed_at(Point::After(Kind::Add)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_while_the_learner_catches_up() {
    killed_at(Point::After(Kind::CatchUp)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_before_the_voters_are_changed() {
    killed_at(Point::Before(Kind::Vote)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_after_the_voters_were_changed() {
    killed_at(Point::After(Kind::Vote)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_while_the_old_replica_is_destroyed() {
    killed_at(Point::AtDestroyed).await;
}

/// The job is undone, nothing of it remains, and a move of the same group begins anew under another id.
async fn ends_undone(cluster: &mut Cluster, shards: &FakeShards, job: u64, why: &str) {
    cluster.wait_ended(job).await;
    let map = cluster.view(*cluster.up.keys().next().unwrap());
    let undone = map.job(job).unwrap();
    assert_eq!(undone.step(), Step::Undone);
    assert!(undone.reason.contains(why), "{}", undone.reason);
    assert_eq!(voters(&map), [1, 2, 3]);
    let group = shards.group(1);
    assert_eq!(group.voters, BTreeSet::from([1, 2, 3]));
    assert!(group.learners.is_empty());
    let members = map.members(1).unwrap();
    let next = members.next_id(4, 0).unwrap();
    assert_eq!(next, ReplicaId::new(4, 0, 1), "its id never comes back");
    cluster.close_all().await;
}

// case L11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_to_a_node_that_stays_away_is_undone() {
    let shards = of_three(Arc::default());
    shards.silence(4);
    let mut cluster = cluster_of_four(&shards, impatient()).await;
    let job = begin(&cluster, 1, from_3_to_4(7)).await;
    ends_undone(&mut cluster, &shards, job, "node 4 is silent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_to_a_node_that_makes_no_replica_is_undone() {
    let shards = of_three(Arc::default());
    shards.idle(4);
    let mut cluster = cluster_of_four(&shards, impatient()).await;
    let job = begin(&cluster, 1, from_3_to_4(7)).await;
    ends_undone(&mut cluster, &shards, job, "made no replica").await;
}

/// The new node dies after the driver was about to change the voters: only the group's own log undoes that.
async fn given_up_at(point: Point) {
    let shards = of_three(FakeShards::holding(point));
    let mut cluster = cluster_of_four(&shards, impatient()).await;
    let job = begin(&cluster, 1, from_3_to_4(7)).await;
    shards.held().await;
    shards.silence(4);
    // The first driver dies where it is, and the next one finds the node silent.
    let driver = cluster.leader().await;
    cluster.kill(driver).await;
    if point == Point::After(Kind::Vote) {
        // The voters were changed: it can only be finished.
        cluster.wait_ended(job).await;
        let map = cluster.view(*cluster.up.keys().next().unwrap());
        assert_eq!(map.job(job).unwrap().step(), Step::Done);
        assert_eq!(voters(&map), [1, 2, 4]);
        cluster.close_all().await;
        return;
    }
    ends_undone(&mut cluster, &shards, job, "node 4 is silent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_whose_node_dies_while_it_catches_up_is_undone() {
    given_up_at(Point::Before(Kind::CatchUp)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_whose_node_dies_before_the_voters_are_changed_is_undone() {
    given_up_at(Point::Before(Kind::Vote)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_whose_node_dies_after_the_voters_were_changed_is_finished() {
    given_up_at(Point::After(Kind::Vote)).await;
}

/// The driver dies while it takes a move back.
async fn undoing_killed_at(point: Point) {
    let shards = of_three(FakeShards::holding(point));
    shards.idle(4);
    let mut cluster = cluster_of_four(&shards, quiet()).await;
    let job = begin(&cluster, 1, from_3_to_4(7)).await;
    let request = pb::CancelJobRequest {
        job,
        reason: "not now".to_owned(),
    };
    let answered = cluster.admin(2).cancel_job(request).await.unwrap();
    assert_eq!(answer(answered.into_inner()).unwrap().job, job);
    shards.held().await;
    let driver = cluster.leader().await;
    cluster.kill(driver).await;
    ends_undone(&mut cluster, &shards, job, "not now").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_before_the_learner_of_an_undone_move_is_removed() {
    undoing_killed_at(Point::Before(Kind::Remove)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_after_the_learner_of_an_undone_move_was_removed() {
    undoing_killed_at(Point::After(Kind::Remove)).await;
}

/// A driver gave the move up, had the learner removed, and died before it could say so; by then the node is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_whose_learner_an_earlier_driver_removed_is_undone() {
    let shards = of_three(FakeShards::holding(Point::Before(Kind::Vote)));
    let mut cluster = cluster_of_four(&shards, quiet()).await;
    let job = begin(&cluster, 1, from_3_to_4(7)).await;
    shards.held().await;
    shards.alter(1, |group| group.learners.clear());
    shards.release();
    ends_undone(&mut cluster, &shards, job, "no member").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_leads_hands_over_before_it_goes() {
    let shards = of_three(Arc::default());
    shards.alter(1, |group| group.leader = 3);
    let cluster = cluster_of_four(&shards, quiet()).await;
    let job = begin(&cluster, 2, from_3_to_4(7)).await;
    cluster.wait_ended(job).await;
    assert_eq!(shards.handed_over(), [(1, 1)]);
    assert_eq!(shards.group(1).leader, 1);
    let changes: Vec<MemberChange> = shards.changes().iter().map(|c| c.change).collect();
    assert_eq!(
        changes,
        [MemberChange::Add, MemberChange::Vote { old: Some(3) }]
    );
}

/// What was removed is waited for, unless its node is silent: then it is a tombstone whenever that comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_ends_when_the_old_replica_is_destroyed_or_its_node_stays_away() {
    let shards = of_three(Arc::default());
    shards.hoard(3, true);
    let cluster = cluster_of_four(&shards, impatient()).await;
    let job = begin(&cluster, 1, from_3_to_4(7)).await;
    let is_waiting = |map: &ShardMap| {
        let found = map.job(job);
        found.is_some_and(|job| job.step() == Step::VotersChanged)
    };
    cluster.wait_views("the change of voters", is_waiting).await;
    let until = tokio::time::Instant::now() + std::time::Duration::from_millis(1_500);
    while tokio::time::Instant::now() < until {
        assert!(is_waiting(&cluster.view(1)), "the old replica is there");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    shards.silence(3);
    cluster.wait_ended(job).await;
    assert_eq!(cluster.view(2).job(job).unwrap().step(), Step::Done);
}

/// A driver that was deposed has a learner added after its move was undone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_learner_that_no_move_knows_is_removed() {
    let shards = of_three(Arc::default());
    shards.silence(4);
    let cluster = cluster_of_four(&shards, impatient()).await;
    let job = begin(&cluster, 1, from_3_to_4(7)).await;
    cluster.wait_ended(job).await;
    shards.alter(1, |group| {
        group.learners.insert(4);
    });
    let removed = MemberOrder {
        group: 1,
        replica: 4,
        change: MemberChange::Remove,
    };
    let before = shards.changes().len();
    cluster
        .wait("the removal of the stray", |_| {
            let changes = shards.changes();
            let later = &changes[before..];
            (later.contains(&removed) && shards.group(1).learners.is_empty()).then_some(())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_is_refused_changes_nothing() {
    let shards = of_three(FakeShards::holding(Point::AtMade));
    let cluster = cluster_of_four(&shards, quiet()).await;
    let before = cluster.view(1);
    let refused = [
        (
            "no shard 9",
            pb::MoveRequest {
                shard: 9,
                ..from_3_to_4(1)
            },
        ),
        (
            "node 2 has shard 1 already",
            pb::MoveRequest {
                to: 2,
                ..from_3_to_4(2)
            },
        ),
        (
            "node 4 has no voter",
            pb::MoveRequest {
                from: 4,
                to: 2,
                ..from_3_to_4(3)
            },
        ),
        (
            "no node 9",
            pb::MoveRequest {
                to: 9,
                ..from_3_to_4(4)
            },
        ),
        (
            "epoch 1, not 8",
            pb::MoveRequest {
                epoch: 8,
                ..from_3_to_4(5)
            },
        ),
        (
            "3 voters already",
            pb::MoveRequest {
                from: 0,
                ..from_3_to_4(6)
            },
        ),
    ];
    for (why, request) in refused {
        let answered = cluster.admin(2).r#move(request).await.unwrap();
        let said = answer(answered.into_inner()).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(*cluster.view(1), *before);
    let job = begin(&cluster, 1, from_3_to_4(7)).await;
    let second = cluster.admin(2).r#move(from_3_to_4(8)).await.unwrap();
    let said = answer(second.into_inner()).unwrap_err();
    assert!(
        said.contains(&format!("job {job} works on shard 1")),
        "{said}"
    );
    // The same request finds its job.
    assert_eq!(begin(&cluster, 3, from_3_to_4(7)).await, job);
}
