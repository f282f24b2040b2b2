//! Calls to a cluster whose processes die, pause and change leaders.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::limits::SEARCH_TURN_MS;
use crate::testing::{FakeNode, Role, Served, map};
use crate::{Peer, RoutedFrontier, RouterError, RouterOptions};
use proto::frontier_v1 as pb;
use urlkey::SuffixList;

fn options() -> RouterOptions {
    RouterOptions {
        attempt_ms: 60,
        leaderless_ms: 400,
        retry_pause_ms: (1, 4),
        ..RouterOptions::new(SuffixList::shipped())
    }
}

/// Patient enough for a loaded machine: for tests where somebody leads in the end.
fn patient() -> RouterOptions {
    RouterOptions {
        leaderless_ms: 60_000,
        call_ms: 60_000,
        ..options()
    }
}

async fn over(peers: Vec<Peer>, options: RouterOptions) -> (Arc<Router>, RoutedFrontier) {
    let router = Arc::new(Router::connect(peers, options).await.unwrap());
    (Arc::clone(&router), RoutedFrontier::new(router))
}

/// A router that reached somebody, however long a loaded machine takes over the first connection.
async fn reached(addresses: Vec<String>, options: RouterOptions) -> Arc<Router> {
    loop {
        match Router::connect_addresses(addresses.clone(), options.clone()).await {
            Ok(router) => return Arc::new(router),
            Err(error @ RouterError::Unreachable(_)) => eprintln!("again: {error}"),
            Err(error) => panic!("{error}"),
        }
    }
}

async fn report(frontier: &RoutedFrontier, shard: u64) -> Result<pb::ReportResponse, CallError> {
    let request = pb::ReportRequest {
        shard,
        items: Vec::new(),
    };
    frontier.report(request).await
}

fn closed_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn follows_nobody() -> Arc<FakeNode> {
    FakeNode::new(Role::Follows(String::new()))
}

#[tokio::test]
async fn a_leader_that_dies_between_calls_is_replaced() {
    let (a, b) = (FakeNode::new(Role::Leads), FakeNode::new(Role::Leads));
    let (mut served_a, served_b) = (Served::start(&a), Served::start(&b));
    b.becomes(Role::Follows(served_a.address.clone()));
    let addresses = vec![served_b.address.clone(), served_a.address.clone()];
    let router = reached(addresses, patient()).await;
    let frontier = RoutedFrontier::new(Arc::clone(&router));
    for _ in 0..3 {
        report(&frontier, 1).await.unwrap();
    }
    assert_eq!(a.calls(), 3);
    served_a.die();
    // It still names the dead one for a while, then nobody, then it leads.
    b.becomes(Role::Elects(4, served_a.address.clone()));
    report(&frontier, 1).await.unwrap();
    let before = b.calls();
    report(&frontier, 1).await.unwrap();
    assert_eq!((a.calls(), b.calls()), (3, before + 1), "remembered");
    assert!(router.traffic().leader_losses() >= 1);
}

#[tokio::test]
async fn an_election_is_waited_for_with_pauses() {
    let (a, b) = (
        follows_nobody(),
        FakeNode::new(Role::Elects(5, String::new())),
    );
    let (router, frontier) = over(vec![a.peer("a:1"), b.peer("b:2")], patient()).await;
    report(&frontier, 1).await.unwrap();
    assert_eq!(b.calls(), 6);
    assert!(
        a.calls() >= 1 && a.calls() <= 8,
        "both are asked in turn: {}",
        a.calls()
    );
    assert_eq!(router.traffic().dead_shards(), 0);
}

#[tokio::test]
async fn a_paused_leader_is_given_up_for_the_one_that_follows_it() {
    let (a, b) = (
        FakeNode::new(Role::Leads),
        FakeNode::new(Role::Follows("a:1".into())),
    );
    let (router, frontier) = over(vec![a.peer("a:1"), b.peer("b:2")], patient()).await;
    report(&frontier, 1).await.unwrap();
    a.becomes(Role::Paused);
    b.becomes(Role::Elects(3, "a:1".into()));
    report(&frontier, 1).await.unwrap();
    // Named by hints or not, the silent one is asked once by this call: it is still listened to.
    assert_eq!(a.calls(), 2);
    assert_eq!(router.traffic().leader_losses(), 1);
    let asked = a.calls();
    report(&frontier, 1).await.unwrap();
    assert_eq!(a.calls(), asked);
}

#[tokio::test]
async fn a_slow_leader_is_asked_once() {
    let slow = Role::Slow(Duration::from_millis(400));
    let (a, b) = (
        FakeNode::new(slow),
        FakeNode::new(Role::Follows("a:1".into())),
    );
    let (_, frontier) = over(vec![a.peer("a:1"), b.peer("b:2")], patient()).await;
    report(&frontier, 1).await.unwrap();
    assert_eq!(a.calls(), 1);
    assert!(b.calls() >= 1);
}

#[tokio::test]
async fn a_silent_process_ends_parked_calls_by_its_missing_sign_of_life() {
    // The kernel accepts the connection; nobody reads from it, as with a stopped process.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let b = FakeNode::new(Role::Leads);
    let served = Served::start(&b);
    let options = RouterOptions {
        attempt_ms: 60_000,
        ..patient()
    };
    let silent_address = silent.local_addr().unwrap().to_string();
    *b.map.lock() = {
        let mut map = map(1, &[(1, 0, u64::MAX)]);
        map.shards[0].leader_address.clone_from(&silent_address);
        map
    };
    let addresses = vec![served.address.clone()];
    let router = reached(addresses, options).await;
    assert_eq!(router.addresses(), [served.address.clone(), silent_address]);
    let frontier = RoutedFrontier::new(router);
    let request = pb::LeaseRequest {
        shard: 1,
        number: 7,
        wait_ms: 60_000,
        ..Default::default()
    };
    frontier.lease(request).await.unwrap();
    assert_eq!(b.leases.lock()[0].number, 7);
}

/// Two of three processes are dead: the reason names them, and the next calls do not even ask.
#[tokio::test]
async fn without_a_quorum_calls_fail_with_a_reason_and_then_at_once() {
    let a = follows_nobody();
    let served = Served::start(&a);
    let dead = [closed_address(), closed_address()];
    let mut addresses = vec![served.address.clone()];
    addresses.extend(dead.clone());
    let options = RouterOptions {
        leaderless_ms: 200,
        ..options()
    };
    let router = reached(addresses, options).await;
    let frontier = RoutedFrontier::new(Arc::clone(&router));
    let error = report(&frontier, 1).await.unwrap_err().to_string();
    assert!(error.contains("shard 1: no leader known"), "{error}");
    assert!(
        dead.iter()
            .all(|address| error.contains(&format!("{address}: "))),
        "{error}"
    );
    assert!(
        error.contains(&format!("{}: does not lead it", served.address)),
        "{error}"
    );
    let asked = router.traffic().total().calls;
    let died = Instant::now();
    let again = report(&frontier, 1).await.unwrap_err();
    if died.elapsed().as_millis() < 100 {
        assert_eq!(router.traffic().total().calls, asked, "{again}");
    }
    assert!(again.is_retryable());
    assert_eq!(router.traffic().dead_shards(), 1);
    // All is well when they return.
    a.becomes(Role::Leads);
    while report(&frontier, 1).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(report(&frontier, 2).await.is_ok());
}

/// case L23: a hundred calls wait for a leader; the nodes are asked no more often than by one.
#[tokio::test]
async fn a_shard_without_a_leader_is_no_reason_for_a_storm() {
    let (a, b) = (follows_nobody(), follows_nobody());
    let (_, frontier) = over(vec![a.peer("a:1"), b.peer("b:2")], options()).await;
    let started = Instant::now();
    let calls = (0..100).map(|_| report(&frontier, 1));
    let results = futures::future::join_all(calls).await;
    assert!(results.iter().all(Result::is_err));
    let turns = started.elapsed().as_millis() as usize / SEARCH_TURN_MS as usize + 2;
    let asked = a.calls() + b.calls();
    assert!(asked <= turns, "{asked} questions in {turns} turns");
}

/// case L23: when a leader comes, all that waited go there, each once.
#[tokio::test]
async fn those_who_wait_hear_of_the_leader_together() {
    let (a, b) = (
        follows_nobody(),
        FakeNode::new(Role::Elects(3, String::new())),
    );
    let (_, frontier) = over(vec![a.peer("a:1"), b.peer("b:2")], patient()).await;
    let calls = (0..50).map(|_| report(&frontier, 1));
    let results = futures::future::join_all(calls).await;
    assert!(results.iter().all(Result::is_ok));
    let (asked_a, asked_b) = (a.calls(), b.calls());
    assert!(
        asked_b >= 53 && asked_a + asked_b < 100,
        "{asked_a} {asked_b}"
    );
}

/// case B17: an answer that was lost is asked for again with the same number, elsewhere, under the same request id.
#[tokio::test]
async fn a_repeat_is_the_same_call() {
    let lost = CallError::Unavailable {
        reason: "the answer was lost".into(),
        retry_after_ms: 0,
    };
    let (a, b) = (FakeNode::new(Role::Leads), FakeNode::new(Role::Leads));
    let (served_a, served_b) = (Served::start(&a), Served::start(&b));
    let addresses = vec![served_a.address.clone(), served_b.address.clone()];
    let options = RouterOptions {
        origin: "feed".into(),
        ..patient()
    };
    let router = reached(addresses, options).await;
    let frontier = RoutedFrontier::new(router);
    for node in [&a, &b] {
        node.becomes(Role::Elects(1, String::new()));
    }
    a.becomes(Role::Fails(lost));
    let request = pb::LeaseRequest {
        shard: 2,
        number: 9,
        session: vec![3; 16].into(),
        ..Default::default()
    };
    frontier.lease(request.clone()).await.unwrap();
    let seen: Vec<_> = [&a, &b]
        .iter()
        .flat_map(|node| node.leases.lock().clone())
        .collect();
    assert!(seen.len() >= 2 && seen.iter().all(|one| *one == request));
    let ids: std::collections::BTreeSet<String> = [&a, &b]
        .iter()
        .flat_map(|node| node.request_ids.lock().clone())
        .filter(|id| id.starts_with("feed-"))
        .collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
}

#[tokio::test]
async fn a_process_that_lacks_the_shard_shows_the_way_to_a_newer_map() {
    let (a, b) = (FakeNode::new(Role::Lacks(4)), FakeNode::new(Role::Leads));
    let (router, frontier) = over(vec![a.peer("a:1"), b.peer("b:2")], patient()).await;
    *a.map.lock() = map(4, &[(2, 0, u64::MAX)]);
    *b.map.lock() = map(4, &[(2, 0, u64::MAX)]);
    report(&frontier, 2).await.unwrap();
    // Shard 1 is gone by the newer map: its caller must know.
    b.becomes(Role::Lacks(4));
    assert_eq!(
        report(&frontier, 1).await.unwrap_err(),
        CallError::WrongShard { map_version: 4 }
    );
    assert_eq!(router.map_version(), 4);
}

/// A shard that was split answers as before, for what is left of it; its answers show the newer map.
#[tokio::test]
async fn a_lease_answer_shows_a_newer_map() {
    let node = FakeNode::new(Role::Leads);
    let (router, frontier) = over(vec![node.peer("a:1")], patient()).await;
    *node.map.lock() = map(3, &[(1, 0, 4), (3, 5, 9), (2, 10, u64::MAX)]);
    let request = pb::LeaseRequest {
        shard: 1,
        ..Default::default()
    };
    frontier.lease(request).await.unwrap();
    router.newer_than(1).await;
    assert_eq!((router.map_version(), router.owner(5)), (3, Some(3)));
}

/// What a split took from a shard nobody else has under its name: the caller is told at once, not after asking all.
#[tokio::test]
async fn a_shard_that_was_split_is_not_looked_for_elsewhere() {
    let split = CallError::WrongShard { map_version: 3 };
    let (a, b) = (FakeNode::new(Role::Lacks(3)), FakeNode::new(Role::Leads));
    let (_, frontier) = over(vec![a.peer("a:1"), b.peer("b:2")], patient()).await;
    for node in [&a, &b] {
        *node.map.lock() = map(3, &[(1, 0, 4), (3, 5, 9), (2, 10, u64::MAX)]);
        node.becomes(Role::Lacks(3));
    }
    assert_eq!(report(&frontier, 1).await.unwrap_err(), split);
    assert_eq!(a.calls() + b.calls(), 1);
}

#[tokio::test]
async fn any_replica_answers_a_local_read_and_is_no_leader_for_it() {
    let (a, b) = (follows_nobody(), follows_nobody());
    let (router, frontier) = over(vec![a.peer("a:1"), b.peer("b:2")], options()).await;
    assert!(report(&frontier, 1).await.is_err());
    let request = pb::ShardStatusRequest { shard: 1 };
    let status = frontier.shard_status(request).await.unwrap();
    assert!(status.shard == 1 && !status.leader);
    assert!(router.shard_state(1).leader().is_none());
}

#[tokio::test]
async fn a_refusal_is_not_repeated() {
    let refusal = CallError::StaleCall { newest_number: 3 };
    let (a, b) = (
        FakeNode::new(Role::Fails(refusal.clone())),
        follows_nobody(),
    );
    let (_, frontier) = over(vec![a.peer("a:1")], options()).await;
    assert_eq!(report(&frontier, 1).await.unwrap_err(), refusal);
    assert_eq!((a.calls(), b.calls()), (1, 0));
}
