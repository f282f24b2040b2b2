//! Known URLs cost nothing, and a new URL is never called known.

use std::sync::Arc;
use std::time::Duration;

use pb::discover_result::Code;
use proto::frontier_v1 as pb;

use super::support::*;
use crate::NodeOptions;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_known_url_costs_no_entry() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let items: Vec<_> = (0..200)
        .map(|i| link(&format!("http://a.example/{i}")))
        .collect();
    assert_eq!(
        discover(&frontier, 1, items.clone()).await,
        vec![Code::New; 200]
    );
    let before = node.engine().metrics();
    for _ in 0..20 {
        assert_eq!(
            discover(&frontier, 1, items.clone()).await,
            vec![Code::Known; 200]
        );
    }
    let after = node.engine().metrics();
    assert_eq!(after.applied_entries, before.applied_entries);
    assert!(
        after.reads_confirmed >= before.reads_confirmed + 20,
        "each answer is proven"
    );
    assert_eq!(node.metrics().known_dropped.get(), 4_000);
    node.close().await;
}

// case B26: a filter far too small only costs reads; no new URL is taken for a known one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_filter_never_hides_a_new_url() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(NodeOptions {
        expected_urls: 1_000,
        ..options(dir.path(), 1)
    })
    .await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    for batch in 0..30 {
        let items = (0..1_000)
            .map(|i| link(&format!("http://a.example/{batch}/{i}")))
            .collect();
        assert_eq!(discover(&frontier, 1, items).await, vec![Code::New; 1_000]);
    }
    assert_eq!(status(&frontier, 1).await.terms.unwrap().accepted, 30_000);
    assert!(node.filter_is_complete());
    node.close().await;
}

// case J5 and J7: after a restart the node works at once, with reads from RocksDB, and the filter is filled behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_does_not_wait_for_the_filter() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let items: Vec<_> = (0..500)
        .map(|i| link(&format!("http://a.example/{i}")))
        .collect();
    discover(&frontier, 1, items.clone()).await;
    node.close().await;

    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    // As after an open whose scan has not ended: the group is not valid, so the filter says nothing.
    let filter = Arc::clone(&node.shared().context.filter);
    filter.invalidate(1);
    let mut mixed = items.clone();
    mixed.push(link("http://a.example/new"));
    let codes = discover(&frontier, 1, mixed).await;
    assert_eq!(codes[..500], vec![Code::Known; 500]);
    assert_eq!(codes[500], Code::New);
    assert_eq!(
        frontier
            .lease(lease_request(1, 1, 0))
            .await
            .unwrap()
            .leases
            .len(),
        1
    );
    // The new generation is scanned by itself; what was written meanwhile is in as well.
    while !node.filter_is_complete() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let known = discover(
        &frontier,
        1,
        vec![link("http://a.example/new"), link("http://a.example/7")],
    )
    .await;
    assert_eq!(known, [Code::Known, Code::Known]);
    node.close().await;
}

// Known is not answered from rows before an entry of this leadership's own term was applied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_dropped_before_recovery() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    discover(&frontier, 1, vec![link("http://a.example/")]).await;
    let shard = node.shared().shard(1).unwrap();
    let term = shard.proven_term().unwrap();
    // As in a term whose first entry is not applied yet.
    shard.forget_proof();
    assert_eq!(shard.proven_term(), None);
    let before = node.metrics().known_dropped.get();
    // The answer is the same, but it comes from the log.
    assert_eq!(
        discover(&frontier, 1, vec![link("http://a.example/")]).await,
        [Code::Known]
    );
    assert_eq!(node.metrics().known_dropped.get(), before);
    let url = "http://a.example/".to_owned();
    let request = pb::GetUrlRequest {
        shard: 1,
        crawl: 1,
        partition: partition(&url),
        url,
        local: false,
    };
    assert!(frontier.get_url(request).await.unwrap_err().is_retryable());
    assert_eq!(shard.leading().unwrap().token.term(), term);
    node.close().await;
}

// case B17: eight clients put the same URLs at once, through one router: each is new exactly once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_puts_accept_each_url_once() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 4)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let router = node.router();
    let clients = (0..8).map(|client| {
        let router = Arc::clone(&router);
        tokio::spawn(async move {
            let urls =
                (0..250).map(|i| link(&format!("http://s{}.example/{i}", (i + client) % 10)));
            router.offer(urls.collect()).await
        })
    });
    let mut new = 0;
    for offered in futures::future::join_all(clients).await {
        let offered = offered.unwrap();
        assert!(offered.undelivered.is_empty());
        new += offered
            .results
            .iter()
            .filter(|r| r.as_ref().unwrap().code() == Code::New)
            .count() as u64;
    }
    let mut accepted = 0;
    for shard in 1..=4 {
        let status = status(&frontier, shard).await;
        assert_conserved(&status);
        accepted += status.terms.unwrap().accepted;
    }
    assert_eq!(new, accepted);
    assert_eq!(
        accepted,
        250 * 8,
        "s differs for each client, so do the URLs"
    );
    node.close().await;
}

// Undelivered links of a report reach their owner through the outbox, on another shard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_outbox_delivers_to_other_shards() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 4)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let source = owner(&frontier, "http://a.example/").await;
    discover(&frontier, source, vec![link("http://a.example/")]).await;
    let robots = frontier
        .lease(lease_request(source, 1, 0))
        .await
        .unwrap()
        .leases
        .remove(0);
    report(&frontier, source, vec![good_report(&robots)]).await;
    let page = frontier
        .lease(lease_request(source, 2, 5_000))
        .await
        .unwrap()
        .leases
        .remove(0);
    let urls: Vec<String> = (0..20).map(|i| format!("http://to{i}.example/")).collect();
    let mut with_links = good_report(&page);
    with_links.undelivered = urls.iter().map(|url| link(url)).collect();
    // One that no owner would take is dropped here, and does not harm the report.
    with_links.undelivered.push(pb::DiscoverItem { item: None });
    let closed = report(&frontier, source, vec![with_links]).await;
    assert_eq!(closed[0].code(), pb::report_result::Code::Closed);
    let mut waits = 0;
    while status(&frontier, source).await.outbox_delivered < 20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        waits += 1;
        assert!(waits < 1_000, "{:?}", status(&frontier, source).await);
    }
    let after = status(&frontier, source).await;
    assert_eq!((after.outbox_in, after.outbox_waiting), (20, 0));
    for url in &urls {
        let found = node.router().get_url(1, url).await.unwrap().record;
        assert!(found.is_some(), "{url}");
    }
    assert_eq!(node.metrics().undelivered_refused.get(), 1);
    node.close().await;
}
