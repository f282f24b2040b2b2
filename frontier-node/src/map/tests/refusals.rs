//! What is refused, and that nothing is changed by it; commands through a node that does not lead.

use std::sync::Arc;

use proto::admin_v1 as pb;
use tonic::Code;

use super::cluster::{Cluster, split_at};
use super::fake_shards::{FakeShards, Point};
use crate::map::Shaper;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_through_a_follower_is_made_once_however_often_it_is_sent() {
    let shards: Arc<dyn Shaper> = Arc::new(FakeShards::default());
    let cluster = Cluster::start(3, 1, Some(shards)).await;
    let (leader, follower) = (cluster.leader().await, cluster.follower().await);
    let first = cluster
        .split(follower, split_at(9, 1, 1 << 20))
        .await
        .unwrap();
    assert!(first.changed && first.job == 1);
    for node in [follower, leader, follower] {
        let again = cluster.split(node, split_at(9, 1, 1 << 20)).await.unwrap();
        assert_eq!(again.job, first.job);
    }
    cluster.wait_ended(first.job).await;
    let map = cluster.view(follower);
    assert_eq!((map.shards.len(), map.jobs.len()), (2, 1));
    // After its end too.
    let again = cluster
        .split(follower, split_at(9, 1, 1 << 20))
        .await
        .unwrap();
    assert_eq!((again.job, again.changed), (1, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_finds_its_job_where_what_is_left_has_no_middle_any_more() {
    let shards: Arc<dyn Shaper> = Arc::new(FakeShards::default());
    let cluster = Cluster::start(3, 1, Some(shards)).await;
    let middle = |request| pb::SplitRequest {
        request,
        shard: 1,
        epoch: 0,
        point: Some(pb::split_request::Point::Middle(true)),
    };
    let first = cluster.split(1, middle(5)).await.unwrap();
    cluster.wait_ended(first.job).await;
    let again = cluster.split(1, middle(5)).await.unwrap();
    assert_eq!((again.job, again.changed), (first.job, false));
    let refused = cluster.split(1, middle(6)).await.unwrap_err();
    assert_eq!(refused, "shard 1 has fewer than two sites to divide");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_command_changes_nothing() {
    let shards = FakeShards::holding(Point::BeforeSplit);
    let shaper = Arc::clone(&shards) as Arc<dyn Shaper>;
    let cluster = Cluster::start(3, 2, Some(shaper)).await;
    let job = cluster.split(1, split_at(7, 1, 1 << 40)).await.unwrap().job;
    shards.held().await;
    cluster
        .wait_views("the driver's step", |map| map.version >= 3)
        .await;
    let before = cluster.view(1);
    let stale = pb::SplitRequest {
        epoch: 9,
        ..split_at(8, 2, 1 << 63 | 9)
    };
    let refused = [
        (split_at(8, 77, 1), "no shard 77"),
        (split_at(8, 0, 1), "group 0 has no range"),
        (split_at(8, 2, 1), "cannot be split at 0000000000000001"),
        (
            split_at(8, 2, 1 << 63),
            "cannot be split at 8000000000000000",
        ),
        (split_at(8, 1, 5), "job 1 works on shard 1"),
        (stale, "epoch 1, not 9"),
    ];
    for (request, words) in refused {
        for node in 1..=3 {
            let reason = cluster.split(node, request.clone()).await.unwrap_err();
            assert!(reason.contains(words), "{reason}");
        }
    }
    let cancel = pb::CancelJobRequest {
        job,
        reason: "too late".to_owned(),
    };
    let answer = cluster
        .admin(2)
        .cancel_job(cancel)
        .await
        .unwrap()
        .into_inner();
    let Some(pb::change_response::End::Refused(reason)) = answer.end else {
        panic!("{answer:?}");
    };
    assert!(reason.contains("can only be finished"), "{reason}");
    for node in 1..=3 {
        assert_eq!(*cluster.view(node), *before);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_makes_no_sense_is_an_error_with_its_reason() {
    let shards: Arc<dyn Shaper> = Arc::new(FakeShards::default());
    let cluster = Cluster::start(1, 1, Some(shards)).await;
    let before = cluster.view(1);
    let around = |host: &str| pb::SplitRequest {
        point: Some(pb::split_request::Point::AroundHost(host.to_owned())),
        ..split_at(8, 1, 0)
    };
    let middle = pb::SplitRequest {
        point: Some(pb::split_request::Point::Middle(false)),
        ..split_at(8, 1, 0)
    };
    let nowhere = pb::SplitRequest {
        point: None,
        ..split_at(8, 1, 0)
    };
    let wrong = [
        (split_at(0, 1, 5), "request is 0"),
        (nowhere, "no point"),
        (middle, "middle is false"),
        (around("Not.Canonical"), "canonical name"),
        (around(""), "canonical name"),
        (around("a.example:80"), "canonical name"),
    ];
    for (request, words) in wrong {
        let status = cluster.admin(1).split(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert!(status.message().contains(words), "{status}");
    }
    let cancel = pb::CancelJobRequest {
        job: 1,
        reason: "x".repeat(1_000),
    };
    let status = cluster.admin(1).cancel_job(cancel).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(*cluster.view(1), *before);
}

/// Without a quorum nothing changes, reads go on, and they say that nothing is proven.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_quorum_a_node_reads_its_copy_and_changes_nothing() {
    let shards: Arc<dyn Shaper> = Arc::new(FakeShards::default());
    let mut cluster = Cluster::start(3, 2, Some(shards)).await;
    cluster.kill(1).await;
    cluster.kill(2).await;
    let request = pb::StatusRequest { local: true };
    let answer = cluster.admin(3).status(request).await.unwrap().into_inner();
    let copy = answer.copy.unwrap();
    assert!(!copy.proven && copy.version == 1 && copy.node == 3);
    assert_eq!((answer.shards, answer.nodes_up), (2, 3));
    let refused = cluster.admin(3).split(split_at(5, 1, 9)).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");
    assert_eq!(cluster.view(3).version, 1);
}
