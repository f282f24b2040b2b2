//! A shard of one replica: leases, clocks, books, known URLs and polls through a split.

use std::sync::Arc;
use std::time::Duration;

use client::CallError;
use pb::discover_result::Code as Offer;
use pb::report_result::Code;

use super::*;
use crate::{NodeOptions, SplitAim, SplitDone};

/// P8: a host that is leased while its shard splits keeps its token, its gap and its counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leased_host_keeps_its_token_its_gap_and_its_counts() {
    let (dir, clocks) = (
        tempfile::tempdir().unwrap(),
        Arc::new(MovedClocks::default()),
    );
    let node = open(NodeOptions {
        clocks: clocks.clone(),
        ..options(dir.path(), 1)
    })
    .await;
    let frontier = node.frontier();
    let (low, high) = two_hosts(&frontier, 30_000).await;
    clocks.pass(31_000);
    let leased = frontier.lease(lease_request(1, 2, 1_000)).await.unwrap();
    let (stays, goes) = (
        of_host(&leased.leases, &low),
        of_host(&leased.leases, &high),
    );
    let known = host_at(&frontier, 1, &high).await.unwrap().unwrap();
    let books = status(&frontier, 1).await.terms.unwrap();
    let done = node.split_shard(split(&[1])).await.unwrap();
    let expected = SplitDone {
        child: CHILD,
        at: AT,
        last: u64::MAX,
        epoch: 1,
    };
    assert_eq!(done, expected);
    assert_eq!(node.split_shard(split(&[1])).await, Ok(done), "a repeat");
    led(&node, CHILD).await;

    let of_child = host_at(&frontier, CHILD, &high).await.unwrap().unwrap();
    let clock = |host: &pb::HostRecord| (host.last_contact_ms, host.delay_ms);
    assert_eq!(clock(&of_child), clock(&known));
    let of_parent = host_at(&frontier, 1, &high).await;
    assert_eq!(of_parent, Err(CallError::WrongShard { map_version: 3 }));
    let again = frontier.lease(lease_request(1, 2, 0)).await.unwrap();
    let tokens: Vec<_> = again.leases.iter().map(|lease| lease.token).collect();
    assert_eq!((again.repeated, again.map_version), (true, 3));
    assert_eq!(tokens, [stays.token], "what went is the child's to tell of");

    let ends = vec![good_report(&goes), good_report(&stays)];
    let closed = report(&frontier, 1, ends).await;
    assert_eq!(codes(&closed), [Code::WrongShard, Code::Closed]);
    let closed = report(&frontier, CHILD, vec![good_report(&goes)]).await;
    assert_eq!(codes(&closed), [Code::Closed]);
    let early = async |number| {
        let answer = frontier.lease(lease_request(CHILD, number, 1)).await;
        answer.unwrap().leases
    };
    assert_eq!(early(1).await, []);
    clocks.pass(29_000);
    assert_eq!(early(2).await, [], "one second too early");
    clocks.pass(2_000);
    let next = frontier
        .lease(lease_request(CHILD, 3, 5_000))
        .await
        .unwrap();
    let next = of_host(&next.leases, &high);
    assert!(next.token > goes.token);
    let (parent, child) = (status(&frontier, 1).await, status(&frontier, CHILD).await);
    [&parent, &child].into_iter().for_each(assert_conserved);
    let accepted = parent.terms.unwrap().accepted + child.terms.unwrap().accepted;
    assert_eq!((accepted, books.leased), (books.accepted, 2));
    node.close().await;
}

/// Known URLs stay known, at their new owner alone; the map names it, and the router finds it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_known_is_known_to_the_child_alone() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    let (low, high) = two_hosts(&frontier, 1).await;
    let (router, before) = (node.router(), node.metrics().known_dropped.get());
    let middle = node.split_points(1, SplitAim::Middle).await.unwrap();
    assert_eq!((middle.epoch, middle.points.len()), (0, 1));
    assert_eq!(middle.points[0], partition(&page(&high, 0)));
    node.split_shard(split(&[1])).await.unwrap();
    led(&node, CHILD).await;
    let ours = vec![
        link(&page(&low, 1)),
        link(&page(&high, 1)),
        link(&page(&high, 9)),
    ];
    assert_eq!(
        discover(&frontier, 1, ours.clone()).await,
        [Offer::Known, Offer::WrongShard, Offer::WrongShard]
    );
    assert_eq!(
        discover(&frontier, CHILD, ours.clone()).await,
        [Offer::WrongShard, Offer::Known, Offer::New]
    );
    assert_eq!(node.metrics().known_dropped.get(), before + 2, "no entry");
    assert_eq!(
        router.owner(u64::MAX),
        Some(1),
        "the router has not asked yet"
    );
    let offered = router.offer(ours).await;
    let known = offered
        .results
        .iter()
        .flatten()
        .map(pb::DiscoverResult::code);
    assert_eq!(known.collect::<Vec<_>>(), [Offer::Known; 3]);
    assert_eq!(
        (router.map_version(), router.owner(u64::MAX)),
        (3, Some(CHILD))
    );
    let found = router.get_url(1, &page(&high, 9)).await.unwrap();
    assert!(found.record.is_some());
    let map = frontier.shard_map(pb::ShardMapRequest {}).await.unwrap();
    let ranges: Vec<_> = map
        .shards
        .iter()
        .map(|s| (s.shard, s.first, s.last, s.epoch))
        .collect();
    assert_eq!(ranges, [(1, 0, AT - 1, 1), (CHILD, AT, u64::MAX, 1)]);
    until("both filters are filled", || node.filter_is_complete()).await;
    node.close().await;
}

/// A poll that waits when its shard splits is answered at once, with nothing and the new map; its number is not used up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parked_poll_hears_of_the_split() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    frontier.lease(lease_request(1, 1, 0)).await.unwrap();
    let parked = tokio::spawn({
        let frontier = Arc::clone(&frontier);
        async move { frontier.lease(lease_request(1, 2, 60_000)).await }
    });
    let shard = node.shared().shard(1).unwrap();
    until("it is parked", || shard.parking().len() == 1).await;
    node.split_shard(split(&[1])).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(30), parked).await;
    let answer = answer.expect("it waits on").unwrap().unwrap();
    assert_eq!((answer.leases.len(), answer.map_version), (0, 3));
    let (low, _) = hosts();
    discover(&frontier, 1, vec![link(&page(&low, 1))]).await;
    let next = frontier.lease(lease_request(1, 2, 5_000)).await.unwrap();
    assert_eq!((next.leases.len(), next.repeated), (1, false));
    node.close().await;
}

/// A child is split like any other shard, and the whole family comes back after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_is_split_too_and_all_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    let (low, high) = two_hosts(&frontier, 1).await;
    node.split_shard(split(&[1])).await.unwrap();
    led(&node, CHILD).await;
    let again = crate::SplitRequest {
        shard: CHILD,
        epoch: 1,
        at: 3 << 62,
        child: 3,
        ..split(&[1])
    };
    node.split_shard(again).await.unwrap();
    led(&node, 3).await;
    let accepted = async |frontier: &Arc<dyn Frontier>| {
        let mut accepted = Vec::new();
        for shard in [1, CHILD, 3] {
            let status = status(frontier, shard).await;
            assert_conserved(&status);
            accepted.push(status.terms.unwrap().accepted);
        }
        accepted
    };
    let before = accepted(&frontier).await;
    assert_eq!(before.iter().sum::<u64>(), 4);
    let map = frontier.shard_map(pb::ShardMapRequest {}).await.unwrap();
    node.close().await;

    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    assert_eq!(node.shards(), [1, CHILD, 3]);
    assert_eq!(accepted(&frontier).await, before);
    let now = frontier.shard_map(pb::ShardMapRequest {}).await.unwrap();
    assert_eq!((now.version, now.shards.len()), (map.version, 3));
    for host in [&low, &high] {
        let found = node.router().get_url(1, &page(host, 1)).await.unwrap();
        assert!(found.record.is_some(), "{host}");
    }
    node.close().await;
}
