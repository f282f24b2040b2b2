//! Splits on three nodes: a replica that comes late, one that crashes, a leader that dies, one that is slow.

use std::sync::atomic::Ordering;

use client::{Peer, Router, RouterOptions};
use pb::discover_result::Code as Offer;
use pb::report_result::Code;

use super::held::image;
use super::trio::{ALL, Trio};
use super::*;
use urlkey::SuffixList;

async fn offer_many(frontier: &Arc<dyn Frontier>, shard: u64, host: &str) {
    for number in 100..160 {
        discover(frontier, shard, vec![link(&page(host, number))]).await;
    }
}

/// case L22: the child's replica is made once, beside its parent's, whichever way the parent's came past the split.
///
/// A replica that missed the split takes the parent's snapshot, then the child's; it votes in both. A snapshot of the parent beside
/// the child that lives there by then leaves the child alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_replica_that_missed_the_split_gets_both_shards() {
    let mut trio = Trio::start(5).await;
    let leader = trio.leader(1).await;
    let (low, high) = two_hosts(&trio.frontier(leader), 1).await;
    trio.same(1).await;
    let behind = ALL.into_iter().find(|id| *id != leader).unwrap();
    trio.stop(behind).await;
    trio.nodes[&leader].split_shard(split(&ALL)).await.unwrap();
    let of_child = trio.leader(CHILD).await;
    offer_many(&trio.frontier(leader), 1, &low).await;
    offer_many(&trio.frontier(of_child), CHILD, &high).await;
    trio.purged(1).await;
    trio.purged(CHILD).await;
    trio.open(behind).await;
    until("it has both", || trio.nodes[&behind].shards() == [1, CHILD]).await;
    trio.same(1).await;
    trio.same(CHILD).await;
    let back = &trio.nodes[&behind];
    assert!(back.engine().metrics().snapshots_installed >= 2);
    for (shard, host) in [(1, &low), (CHILD, &high)] {
        let (here, there) = (trio.frontier(behind), trio.frontier(leader));
        let terms = status(&here, shard).await.terms;
        assert_eq!(terms, status(&there, shard).await.terms);
        assert_eq!(terms.unwrap().accepted, 62);
        let record = host_at(&here, shard, host).await.unwrap().unwrap();
        assert_eq!(Some(record), host_at(&there, shard, host).await.unwrap());
    }

    // Behind once more in the parent only: its snapshot comes to where the child is.
    trio.stop(behind).await;
    let leader = trio.leader(1).await;
    offer_many(&trio.frontier(leader), 1, &format!("x.{low}")).await;
    trio.purged(1).await;
    trio.open(behind).await;
    assert_eq!(
        trio.nodes[&behind].shards(),
        [1, CHILD],
        "at once, from its own rows"
    );
    trio.same(1).await;
    let here = trio.frontier(behind);
    assert_eq!(status(&here, CHILD).await.terms.unwrap().accepted, 62);
    assert!(host_at(&here, CHILD, &high).await.unwrap().is_some());

    // Its vote counts in both.
    let other = ALL.into_iter().find(|id| *id != leader && *id != behind);
    trio.stop(other.unwrap()).await;
    for (shard, host) in [(1, &low), (CHILD, &high)] {
        let leader = trio.leader(shard).await;
        let new = discover(&trio.frontier(leader), shard, vec![link(&page(host, 7))]).await;
        assert_eq!(new, [Offer::New]);
    }
    trio.close().await;
}

/// A follower applies the split, and its power goes before it has created the child.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_follower_that_crashes_before_it_made_the_child_makes_it() {
    let mut trio = Trio::start(1_000).await;
    let leader = trio.leader(1).await;
    two_hosts(&trio.frontier(leader), 1).await;
    trio.same(1).await;
    let crashes = ALL.into_iter().find(|id| *id != leader).unwrap();
    trio.held[&crashes].flushes.store(true, Ordering::SeqCst);
    trio.nodes[&leader].split_shard(split(&ALL)).await.unwrap();
    until("it has applied the split", || {
        trio.nodes[&crashes].known_shards() == [1, CHILD]
    })
    .await;
    let after = image(trio.dirs[&crashes].path());
    trio.held[&crashes].flushes.store(false, Ordering::SeqCst);
    trio.stop(crashes).await;
    trio.dirs.insert(crashes, after);
    trio.open(crashes).await;
    until("it has made the child", || {
        trio.nodes[&crashes].shards() == [1, CHILD]
    })
    .await;
    trio.leader(CHILD).await;
    trio.same(CHILD).await;
    trio.close().await;
}

/// The parent's leader dies right after the split: both shards are led again, and a lease that moved is closed by its token.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_leader_dies_after_the_split() {
    let mut trio = Trio::start(1_000).await;
    let leader = trio.leader(1).await;
    let frontier = trio.frontier(leader);
    let (low, high) = two_hosts(&frontier, 1).await;
    let leases = page_leases(&frontier).await;
    let (stays, goes) = (of_host(&leases, &low), of_host(&leases, &high));
    trio.nodes[&leader].split_shard(split(&ALL)).await.unwrap();
    trio.stop(leader).await;
    for (shard, lease) in [(1, &stays), (CHILD, &goes)] {
        let next = trio.leader(shard).await;
        let closed = report(&trio.frontier(next), shard, vec![good_report(lease)]).await;
        assert_eq!(codes(&closed), [Code::Closed]);
        assert_conserved(&status(&trio.frontier(next), shard).await);
    }
    trio.open(leader).await;
    trio.same(1).await;
    trio.same(CHILD).await;
    assert_eq!(trio.nodes[&leader].shards(), [1, CHILD]);
    trio.close().await;
}

/// The schedule that a second look at the range closes: the split is committed, the others have applied it and the child has
/// forgotten a URL; the parent's leader, whose disk is slow, has not applied it. Its rows and its range say "known", its
/// leadership is proven, and only what it has applied after the proof says that the URL is not its own any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_leader_that_is_behind_its_own_split_does_not_answer_for_the_child() {
    let trio = Trio::start(1_000).await;
    let leader = trio.leader(1).await;
    let frontier = trio.frontier(leader);
    let (_, high) = two_hosts(&frontier, 1).await;
    let url = page(&high, 1);
    trio.same(1).await;
    let slow = &trio.held[&leader].writes;
    slow.store(true, Ordering::SeqCst);
    let splitting = trio.nodes[&leader].split_shard(split(&ALL));
    let forgotten = async {
        let of_child = trio.leader(CHILD).await;
        let request = pb::RemoveRequest {
            shard: CHILD,
            crawl: 1,
            partition: partition(&url),
            target: Some(pb::remove_request::Target::Url(url.clone())),
            forget: true,
            ..Default::default()
        };
        let removed = trio.frontier(of_child).remove(request).await.unwrap();
        assert_eq!(
            (removed.removed, removed.refused_reason),
            (1, String::new())
        );
        assert_eq!(trio.nodes[&leader].known_shards(), [1], "it is behind");
        let asked = tokio::spawn({
            let (frontier, items) = (Arc::clone(&frontier), vec![link(&url)]);
            async move { discover(&frontier, 1, items).await }
        });
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        slow.store(false, Ordering::SeqCst);
        assert_eq!(asked.await.unwrap(), [Offer::WrongShard]);
    };
    let (done, ()) = tokio::join!(splitting, forgotten);
    assert_eq!(done.unwrap().child, CHILD);
    let of_child = trio.leader(CHILD).await;
    let new = discover(&trio.frontier(of_child), CHILD, vec![link(&url)]).await;
    assert_eq!(new, [Offer::New]);
    trio.close().await;
}

/// Clients offer all the while, through routers that know only the map of before: each URL is accepted once, by its owner.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_offered_during_a_split_is_accepted_once() {
    const CLIENTS: u64 = 4;
    const BATCHES: u64 = 30;
    let trio = Trio::start(1_000).await;
    let leader = trio.leader(1).await;
    create_crawl(&trio.frontier(leader), 1, 1).await;
    let peer = |id: u64| Peer {
        address: format!("n{id}"),
        frontier: trio.frontier(id),
    };
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let options = RouterOptions::new(SuffixList::shipped());
        let router = Router::connect(ALL.map(peer).into(), options)
            .await
            .unwrap();
        clients.push(tokio::spawn(async move {
            for batch in 0..BATCHES {
                let url = |site: u64| page(&format!("w.s{site}.example"), client * 1_000 + batch);
                let items = (0..20).map(|site| link(&url(site))).collect();
                let offered = router.offer(items).await;
                assert_eq!(offered.undelivered, []);
                let codes = offered
                    .results
                    .iter()
                    .flatten()
                    .map(pb::DiscoverResult::code);
                assert!(
                    codes
                        .into_iter()
                        .all(|c| matches!(c, Offer::New | Offer::Known))
                );
            }
            router.map_version()
        }));
    }
    let accepted = async |shard| {
        let leader = trio.leader(shard).await;
        let status = status(&trio.frontier(leader), shard).await;
        assert_conserved(&status);
        status.terms.unwrap().accepted
    };
    let all = CLIENTS * BATCHES * 20;
    while accepted(1).await < all / 16 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    trio.nodes[&leader].split_shard(split(&ALL)).await.unwrap();
    let mut versions = Vec::new();
    for client in clients {
        versions.push(client.await.unwrap());
    }
    assert!(
        versions.contains(&3),
        "nobody heard of the split: {versions:?}"
    );
    let (parent, child) = (accepted(1).await, accepted(CHILD).await);
    assert!(child > 0 && parent > 0);
    assert_eq!(parent + child, all);
    trio.close().await;
}
