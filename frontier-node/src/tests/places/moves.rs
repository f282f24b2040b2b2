//! A shard moves between nodes while it is used.

use std::sync::Arc;
use std::time::Duration;

use client::{CallError, Frontier, RoutedFrontier};
use pb::discover_result::Code as Offer;
use pb::report_result::Code;
use proto::frontier_v1 as pb;

use super::super::support::*;
use super::quad::{FOUNDERS, Quad};
use super::*;

const PAGES: u64 = 40;

fn page(host: u64) -> String {
    format!("http://w.s{host}.example/1")
}

/// The shard leaves the node that leads it while a lease is parked, reports come and pages are offered: all of it goes on at the
/// new place. What was leased before is closed after under its token, what was known stays known, nothing is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_shard_moves_away_while_a_lease_a_report_and_a_discover_are_under_way() {
    let mut quad = Quad::start().await;
    let from = quad.leader(SHARD).await;
    let router = quad.router().await;
    let routed: Arc<dyn Frontier> = Arc::new(RoutedFrontier::new(Arc::clone(&router)));
    create_crawl(&routed, 1, 1).await;
    discover(&routed, SHARD, vec![link(&page(1)), link(&page(2))]).await;
    let robots = routed
        .lease(lease_request(SHARD, 1, 5_000))
        .await
        .unwrap()
        .leases;
    report(&routed, SHARD, robots.iter().map(good_report).collect()).await;
    let held = routed
        .lease(lease_request(SHARD, 2, 5_000))
        .await
        .unwrap()
        .leases;
    assert!(!held.is_empty());

    let offering = tokio::spawn({
        let router = Arc::clone(&router);
        async move {
            let mut codes = Vec::new();
            for host in 100..100 + PAGES {
                let offered = router.offer(vec![link(&page(host))]).await;
                codes.extend(offered.results.into_iter().map(|r| r.map(|r| r.code())));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            codes
        }
    });
    quad.regroup(SHARD, from, 4).await;
    quad.tell();
    let old = &quad.nodes[&from];
    until("the old replica is gone", || {
        old.engine().group(SHARD).is_none()
    })
    .await;
    let there = quad.frontier(from);
    let refused = there.report(pb::ReportRequest {
        shard: SHARD,
        items: held.iter().map(good_report).collect(),
    });
    let Err(CallError::NotHere {
        replica_addresses, ..
    }) = refused.await
    else {
        panic!("it is not there")
    };
    let mut left: Vec<String> = FOUNDERS
        .iter()
        .filter(|id| **id != from)
        .map(|id| format!("n{id}"))
        .collect();
    left.push("n4".to_owned());
    assert_eq!(replica_addresses, left);
    let closed = report(&routed, SHARD, held.iter().map(good_report).collect()).await;
    assert!(
        closed.iter().all(|result| result.code() == Code::Closed),
        "{closed:?}"
    );
    let codes = offering.await.unwrap();
    assert_eq!(codes.len() as u64, PAGES);
    assert!(
        codes
            .iter()
            .all(|code| matches!(code, Some(Offer::New | Offer::Known))),
        "{codes:?}"
    );

    // A fetcher goes on under its session's next number, wherever the shard is led.
    let (urls, _) = crawl_all(&routed, SHARD, 2).await;
    assert!((100..100 + PAGES).all(|host| urls.contains(&page(host))));
    let status = status(&routed, SHARD).await;
    assert_conserved(&status);
    assert_eq!(status.terms.unwrap().accepted, PAGES + 2);
    let again = discover(&routed, SHARD, vec![link(&page(1)), link(&page(100))]).await;
    assert_eq!(again, [Offer::Known, Offer::Known]);

    // The newcomer votes: one of the founders may be away.
    let away = FOUNDERS.into_iter().find(|id| *id != from).unwrap();
    quad.stop(away).await;
    let leader = quad.leader(SHARD).await;
    let new = discover(&quad.frontier(leader), SHARD, vec![link(&page(999))]).await;
    assert_eq!(new, [Offer::New]);
    quad.close().await;
}

/// A node that was down when its replica moved away hears of it when it is back: it removes the replica, and never answers for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_that_was_down_while_its_replica_moved_away_removes_it() {
    let mut quad = Quad::start().await;
    let leader = quad.leader(SHARD).await;
    create_crawl(&quad.frontier(leader), 1, 1).await;
    let from = FOUNDERS.into_iter().find(|id| *id != leader).unwrap();
    quad.stop(from).await;
    quad.regroup(SHARD, from, 4).await;
    quad.open(from).await;
    assert_eq!(
        quad.nodes[&from].shards(),
        [SHARD],
        "its copy of the map is old"
    );
    quad.tell();
    let back = &quad.nodes[&from];
    until("it is removed", || {
        back.shards().is_empty() && back.engine().group(SHARD).is_none()
    })
    .await;

    // And comes back to the shard in the place of another one, under a new id.
    let other = FOUNDERS
        .into_iter()
        .find(|id| ![leader, from].contains(id))
        .unwrap();
    quad.regroup(SHARD, other, from).await;
    quad.tell();
    let back = quad.nodes[&from].shared().shard(SHARD).unwrap();
    assert_eq!(back.replica(), id(from as u32, 0, 1));
    until("the other one is gone", || {
        quad.nodes[&other].shards().is_empty()
    })
    .await;
    let leader = quad.leader(SHARD).await;
    discover(&quad.frontier(leader), SHARD, vec![link(&page(5))]).await;
    for node in [leader, from, 4] {
        until("it is applied everywhere", || {
            let standing = quad.nodes[&node].shard_standing(SHARD).unwrap();
            let of_leader = quad.nodes[&leader].shard_standing(SHARD).unwrap();
            standing.applied_index == of_leader.applied_index
        })
        .await;
        let here = status(&quad.frontier(node), SHARD).await;
        assert_eq!(here.terms.unwrap().accepted, 1);
    }
    quad.close().await;
}

/// A replica comes to a node after its shard was split: its rows name the child, which is not the node's. The child comes when the
/// map says so, and stays where the parent goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_replica_that_came_after_a_split_makes_no_child() {
    let mut quad = Quad::start().await;
    let leader = quad.leader(SHARD).await;
    create_crawl(&quad.frontier(leader), 1, 1).await;
    let pages: Vec<_> = (0..20).map(|host| link(&page(host))).collect();
    discover(&quad.frontier(leader), SHARD, pages.clone()).await;
    let child = quad.split(SHARD, 1 << 63).await;
    quad.tell();
    let from = FOUNDERS.into_iter().find(|id| *id != leader).unwrap();
    quad.regroup(SHARD, from, 4).await;
    quad.tell();
    until("the parent is gone there", || {
        quad.nodes[&from].shards() == [child]
    })
    .await;
    until("the parent's rows are here", || {
        quad.nodes[&4].known_shards() == [SHARD, child]
    })
    .await;
    assert_eq!(quad.nodes[&4].shards(), [SHARD]);
    let asked = quad.frontier(4).lease(lease_request(child, 1, 0)).await;
    assert!(matches!(asked, Err(CallError::NotHere { .. })), "{asked:?}");

    quad.regroup(child, leader, 4).await;
    quad.tell();
    until("the child is here", || {
        quad.nodes[&4].shards() == [SHARD, child]
    })
    .await;
    until("and gone there", || quad.nodes[&leader].shards() == [SHARD]).await;
    let router = quad.router().await;
    let offered = router.offer(pages).await;
    let codes: Vec<_> = offered.results.into_iter().flatten().collect();
    assert_eq!(codes.len(), 20);
    assert!(codes.iter().all(|result| result.code() == Offer::Known));
    quad.close().await;
}
