//! What a restart of the node keeps: answers, leases, clocks, identity.

use std::sync::Arc;

use proto::frontier_v1 as pb;
use urlkey::SuffixList;

use super::support::*;
use crate::{FrontierNode, NodeOptions};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_call_is_repeated_across_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 2)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let shard = owner(&frontier, "http://a.example/").await;
    discover(&frontier, shard, vec![link("http://a.example/")]).await;
    let first = frontier.lease(lease_request(shard, 1, 0)).await.unwrap();
    assert_eq!(first.leases.len(), 1);
    node.close().await;

    let node = open(options(dir.path(), 2)).await;
    let frontier = node.frontier();
    // It must be answered from the log although nothing is ready: parking would hide the lease.
    let again = frontier
        .lease(lease_request(shard, 1, 60_000))
        .await
        .unwrap();
    assert!(again.repeated);
    assert_eq!(
        (again.leases[0].key, again.leases[0].token),
        (first.leases[0].key, first.leases[0].token)
    );
    assert!(
        again.leases[0].remaining_ms <= first.leases[0].remaining_ms,
        "a repeat grants no new time"
    );
    let closed = report(&frontier, shard, vec![good_report(&again.leases[0])]).await;
    assert_eq!(closed[0].code(), pb::report_result::Code::Closed);
    node.close().await;
}

// P1: a host's clock survives the restart, and shard time never runs ahead of real time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_keeps_the_hosts_clocks() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 30_000).await;
    discover(&frontier, 1, vec![link("http://a.example/")]).await;
    let robots = frontier
        .lease(lease_request(1, 1, 0))
        .await
        .unwrap()
        .leases
        .remove(0);
    report(&frontier, 1, vec![good_report(&robots)]).await;
    let before = host(&frontier).await;
    node.close().await;

    let clocks = Arc::new(MovedClocks::default());
    let node = open(NodeOptions {
        clocks: clocks.clone(),
        ..options(dir.path(), 1)
    })
    .await;
    let frontier = node.frontier();
    let after = host(&frontier).await;
    assert_eq!(
        (after.last_contact_ms, after.delay_ms),
        (before.last_contact_ms, 30_000)
    );
    assert!(after.now_ms >= before.now_ms);
    assert!(
        frontier
            .lease(lease_request(1, 2, 1))
            .await
            .unwrap()
            .leases
            .is_empty()
    );
    clocks.pass(29_000);
    assert!(
        frontier
            .lease(lease_request(1, 3, 1))
            .await
            .unwrap()
            .leases
            .is_empty(),
        "one second too early"
    );
    clocks.pass(2_000);
    let page = frontier.lease(lease_request(1, 4, 1_000)).await.unwrap();
    assert_eq!(url_of(&page.leases[0]), "http://a.example/");
    assert_conserved(&status(&frontier, 1).await);
    node.close().await;
}

async fn host(frontier: &Arc<dyn client::Frontier>) -> pb::HostRecord {
    let partition = partition("http://a.example/");
    let request = pb::GetHostRequest {
        shard: 1,
        host: "a.example".into(),
        partition,
        local: true,
    };
    frontier.get_host(request).await.unwrap().record.unwrap()
}

// case B2: leases that were out at the crash run out and come again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_survive_a_restart_and_expire() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    discover(&frontier, 1, vec![link("http://a.example/")]).await;
    let old = frontier
        .lease(lease_request(1, 1, 0))
        .await
        .unwrap()
        .leases
        .remove(0);
    node.close().await;

    let clocks = Arc::new(MovedClocks::default());
    let node = open(NodeOptions {
        clocks: clocks.clone(),
        ..options(dir.path(), 1)
    })
    .await;
    let frontier = node.frontier();
    assert_eq!(status(&frontier, 1).await.ready.unwrap().leased, 1);
    clocks.pass(700_000);
    let mut number = 1;
    let new = loop {
        number += 1;
        let mut leases = frontier
            .lease(lease_request(1, number, 1_000))
            .await
            .unwrap()
            .leases;
        if let Some(lease) = leases.pop() {
            break lease;
        }
        clocks.pass(60_000);
    };
    assert_eq!(new.key, old.key);
    // case B7: tokens never come twice.
    assert!(new.token > old.token);
    let late = report(&frontier, 1, vec![good_report(&old)]).await;
    assert_eq!(late[0].code(), pb::report_result::Code::LeaseLost);
    node.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_identity_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    open(options(dir.path(), 2)).await.close().await;
    let words = |options: NodeOptions| async move {
        FrontierNode::open(options).await.err().unwrap().to_string()
    };
    assert!(
        words(options(dir.path(), 3))
            .await
            .contains("number of shards")
    );
    let suffixes = Arc::new(SuffixList::parse("com\n").unwrap());
    assert!(
        words(NodeOptions {
            suffixes,
            ..options(dir.path(), 2)
        })
        .await
        .contains("suffix list")
    );
    assert!(
        words(NodeOptions {
            node_id: 5,
            ..options(dir.path(), 2)
        })
        .await
        .contains("node id")
    );
    assert!(
        words(NodeOptions {
            expected_urls: 1,
            ..options(dir.path(), 2)
        })
        .await
        .contains("expected_urls")
    );
    // None of the refusals did any harm.
    open(options(dir.path(), 2)).await.close().await;
}

// case J16: keys are fixed-width big-endian, so the order and owner of rows survive whatever the hash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_sites_over_many_shards_are_all_crawled_once() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 8)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let urls: Vec<String> = (0..60)
        .map(|i| format!("http://www.site{i}.example/page"))
        .collect();
    let offered = node
        .router()
        .offer(urls.iter().map(|url| link(url)).collect())
        .await;
    assert!(offered.undelivered.is_empty());
    node.close().await;
    let node = open(options(dir.path(), 8)).await;
    let frontier = node.frontier();
    let mut crawled = Vec::new();
    for shard in 1..=8 {
        crawled.extend(crawl_all(&frontier, shard, 0).await.0);
        assert_conserved(&status(&frontier, shard).await);
    }
    crawled.retain(|url| !url.ends_with("/robots.txt"));
    crawled.sort_unstable();
    let mut expected = urls;
    expected.sort_unstable();
    assert_eq!(crawled, expected);
    node.close().await;
}
