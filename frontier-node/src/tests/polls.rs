//! Long polls: woken by work, free while there is none, one attempt of a session at a time.

use std::sync::Arc;
use std::time::Duration;

use client::CallError;
use proto::frontier_v1 as pb;

use super::support::*;

/// Entries that the node submitted so far.
fn entries(node: &crate::FrontierNode) -> u64 {
    node.engine().metrics().applied_entries
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_wakes_when_a_url_comes() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    // The first call of a session goes to the log, whatever is ready.
    assert!(
        frontier
            .lease(lease_request(1, 1, 0))
            .await
            .unwrap()
            .leases
            .is_empty()
    );
    let poll = tokio::spawn({
        let frontier = Arc::clone(&frontier);
        async move { frontier.lease(lease_request(1, 2, 60_000)).await.unwrap() }
    });
    while node.shared().shard(1).unwrap().parking().len() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    discover(&frontier, 1, vec![link("http://a.example/")]).await;
    let response = poll.await.unwrap();
    assert_eq!(response.leases.len(), 1);
    assert!(!response.repeated);
    node.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_wakes_when_a_host_s_clock_allows() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 300).await;
    discover(&frontier, 1, vec![link("http://a.example/")]).await;
    let robots = frontier
        .lease(lease_request(1, 1, 0))
        .await
        .unwrap()
        .leases
        .remove(0);
    report(&frontier, 1, vec![good_report(&robots)]).await;
    let asked_ms = status(&frontier, 1).await.now_ms;
    let response = frontier.lease(lease_request(1, 2, 60_000)).await.unwrap();
    assert_eq!(url_of(&response.leases[0]), "http://a.example/");
    assert!(
        status(&frontier, 1).await.now_ms >= asked_ms + 300,
        "not before the host's clock allows"
    );
    assert!(response.held_ms <= 60_000);
    node.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polls_without_work_cost_no_entry() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    frontier.lease(lease_request(1, 1, 0)).await.unwrap();
    let before = entries(&node);
    for _ in 0..50 {
        // The number was not used, so it may be used again.
        let response = frontier.lease(lease_request(1, 2, 1)).await.unwrap();
        assert!(response.leases.is_empty() && !response.repeated);
    }
    assert_eq!(entries(&node), before);
    discover(&frontier, 1, vec![link("http://a.example/")]).await;
    assert_eq!(
        frontier
            .lease(lease_request(1, 2, 1_000))
            .await
            .unwrap()
            .leases
            .len(),
        1
    );
    node.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_number_gets_the_same_leases_and_an_older_one_is_stale() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    discover(
        &frontier,
        1,
        (0..3)
            .map(|i| link(&format!("http://h{i}.example/")))
            .collect(),
    )
    .await;
    let mut one = lease_request(1, 1, 0);
    one.max_leases = 1;
    let first = frontier.lease(one.clone()).await.unwrap();
    let again = frontier.lease(one.clone()).await.unwrap();
    assert_eq!((first.repeated, again.repeated), (false, true));
    let identity =
        |response: &pb::LeaseResponse| (response.leases[0].key, response.leases[0].token);
    assert_eq!(identity(&first), identity(&again));
    let next = frontier
        .lease(pb::LeaseRequest {
            number: 2,
            ..one.clone()
        })
        .await
        .unwrap();
    assert_ne!(identity(&first), identity(&next));
    assert_eq!(
        frontier.lease(one).await.unwrap_err(),
        CallError::StaleCall { newest_number: 2 }
    );
    node.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_attempt_ends_a_parked_one() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    frontier.lease(lease_request(1, 1, 0)).await.unwrap();
    let parked = tokio::spawn({
        let frontier = Arc::clone(&frontier);
        async move { frontier.lease(lease_request(1, 2, 60_000)).await }
    });
    while node.shared().shard(1).unwrap().parking().len() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(
        frontier
            .lease(lease_request(1, 3, 0))
            .await
            .unwrap()
            .leases
            .is_empty()
    );
    assert_eq!(
        parked.await.unwrap().unwrap_err(),
        CallError::StaleCall { newest_number: 3 }
    );
    assert_eq!(node.shared().shard(1).unwrap().parking().len(), 0);
    node.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_node_ends_its_polls_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    frontier.lease(lease_request(1, 1, 0)).await.unwrap();
    let parked = tokio::spawn({
        let frontier = Arc::clone(&frontier);
        async move { frontier.lease(lease_request(1, 2, 60_000)).await }
    });
    while node.shared().shard(1).unwrap().parking().len() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    node.close().await;
    assert!(parked.await.unwrap().unwrap_err().is_retryable());
}

// An expired lease comes again without anybody asking for an entry: the leader ticks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_ticks_when_a_lease_expires() {
    let dir = tempfile::tempdir().unwrap();
    let clocks = Arc::new(MovedClocks::default());
    let node = open(crate::NodeOptions {
        clocks: clocks.clone(),
        ..options(dir.path(), 1)
    })
    .await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    discover(&frontier, 1, vec![link("http://a.example/")]).await;
    let first = frontier
        .lease(lease_request(1, 1, 0))
        .await
        .unwrap()
        .leases
        .remove(0);
    clocks.pass(61_000);
    // Any call makes the task look at its alarms; the expiry itself is an entry nobody asked for.
    frontier.lease(lease_request(1, 2, 1)).await.unwrap();
    while status(&frontier, 1).await.ready.unwrap().leased > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(status(&frontier, 1).await.counters["leases_expired"] >= 1);
    let late = report(&frontier, 1, vec![good_report(&first)]).await;
    assert_eq!(late[0].code(), pb::report_result::Code::LeaseLost);
    node.close().await;
}
