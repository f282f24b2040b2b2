//! Two nodes of three are down: nobody pretends, nobody fetches, and all is well when they are back.

use super::{CRAWL, Nodes, Talk, crawl, finish_unbroken, web};
use client::{CallError, Frontier, RoutedFrontier};
use proto::frontier_v1 as pb;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// A call has a deadline of its own, far shorter: whoever is not answered by then hangs.
const HANGS_AFTER: Duration = Duration::from_secs(60);
/// What is under way at the moment of the deaths is over after this.
const SETTLED_AFTER: Duration = Duration::from_secs(4);
/// How long the web is watched then: longer than a lease.
const WATCHED_FOR: Duration = Duration::from_secs(7);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_quorum_calls_are_refused_and_the_web_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (web, manifest) = web(6, 24, 2);
    let mut nodes = Nodes::new(dir.path(), 3);
    let (talk, mut fetcher) = crawl(&mut nodes, &web, dir.path()).await;
    while web.requests() < 30 {
        assert!(fetcher.ended().is_none(), "{}", fetcher.log_end());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The one that stays leads a shard: it must find out by itself that nobody follows it any more.
    let stays = talk.leader_of(talk.shards[0]).await;
    for number in nodes.numbers().filter(|number| *number != stays) {
        nodes.kill(number);
    }
    tokio::time::sleep(SETTLED_AFTER).await;
    let (settled, by_then) = (web.requests(), web.arrivals());
    refused(&talk, &web.seed_url).await;
    tokio::time::sleep(WATCHED_FOR).await;
    let during = web.arrivals().into_iter().skip(by_then.len());
    assert_eq!(
        web.requests(),
        settled,
        "fetched without a quorum: {:?}",
        during.collect::<Vec<_>>()
    );

    nodes.start_ready().await.unwrap();
    finish_unbroken(&talk, &web, &manifest).await;
    let mut times: BTreeMap<_, u32> = BTreeMap::new();
    for arrival in web.arrivals() {
        *times.entry((arrival.host, arrival.path)).or_default() += 1;
    }
    let most = times.iter().max_by_key(|(_, count)| **count).unwrap();
    assert!(*most.1 <= 3, "asked for again and again: {most:?}");
    assert!(fetcher.terminate().await.success());
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

/// Whoever asks the cluster for anything is told in time that there is no leader.
async fn refused(talk: &Talk, known_url: &str) {
    let cluster = RoutedFrontier::new(Arc::clone(&talk.router));
    for shard in talk.shards.iter().copied() {
        let lease = pb::LeaseRequest {
            shard,
            session: vec![7; 16].into(),
            number: 1,
            max_leases: 1,
            ttl_ms: 6_000,
            wait_ms: 0,
        };
        is_refused("a lease", cluster.lease(lease)).await;
        let items = vec![talk.link(CRAWL, "http://late.example/")];
        let offer = pb::DiscoverRequest { shard, items };
        is_refused("an offer", cluster.discover(offer)).await;
        let items = vec![pb::Report::default()];
        let report = pb::ReportRequest { shard, items };
        is_refused("a report", cluster.report(report)).await;
    }
    is_refused("a look-up", talk.router.get_url(CRAWL, known_url)).await;
}

async fn is_refused<T: Debug>(what: &str, call: impl Future<Output = Result<T, CallError>>) {
    match tokio::time::timeout(HANGS_AFTER, call).await {
        Ok(Err(CallError::Unavailable { reason, .. })) => {
            assert!(reason.contains("no leader known"), "{what}: {reason}");
        }
        other => unreachable!("{what} without a quorum: {other:?}"),
    }
}
