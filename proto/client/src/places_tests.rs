//! Calls to shards that live on some nodes only, and move.

use super::*;
use crate::testing::{FakeNode, Role, link, map};
use crate::{Peer, RoutedFrontier, RouterOptions};
use futures::FutureExt;
use pb::discover_result::Code;
use proto::frontier_v1 as pb;
use urlkey::SuffixList;

/// Five nodes; shard 1 is on the first three, shard 2 on the last three.
struct Five {
    nodes: Vec<Arc<FakeNode>>,
}

fn address(node: usize) -> String {
    format!("n{node}:1")
}

fn addresses(nodes: &[usize]) -> Vec<String> {
    nodes.iter().map(|node| address(*node)).collect()
}

/// A map of two shards, by the nodes of each; all five nodes take part.
fn placed(version: u64, first: &[usize], second: &[usize]) -> pb::ShardMapResponse {
    let mut map = map(version, &[(1, 0, 9), (2, 10, u64::MAX)]);
    for (entry, nodes) in map.shards.iter_mut().zip([first, second]) {
        entry.epoch = version;
        entry.replica_addresses = addresses(nodes);
    }
    map.node_addresses = addresses(&[1, 2, 3, 4, 5]);
    map
}

impl Five {
    fn new() -> Self {
        let five = Self {
            nodes: (1..=5).map(|_| FakeNode::new(Role::Leads)).collect(),
        };
        five.place(1, &[1, 2, 3], 1, &[1, 2, 3, 4, 5]);
        for node in [3, 4] {
            five.node(node).becomes_for(2, Role::Follows(address(5)));
        }
        five
    }

    fn node(&self, node: usize) -> &Arc<FakeNode> {
        &self.nodes[node - 1]
    }

    /// Shard 1 is on these nodes, and led by one of them; only some nodes' maps say so.
    fn place(&self, version: u64, replicas: &[usize], leader: usize, told: &[usize]) {
        for node in told {
            *self.node(*node).map.lock() = placed(version, replicas, &[3, 4, 5]);
        }
        for node in 1..=5 {
            let role = match node {
                _ if node == leader => Role::Leads,
                _ if replicas.contains(&node) => Role::Follows(address(leader)),
                _ => Role::Elsewhere(version, addresses(replicas)),
            };
            self.node(node).becomes_for(1, role);
        }
    }

    /// A router that was given some of them by name; all can be called.
    async fn router(&self) -> Arc<Router> {
        let peer = |node: usize| -> Peer { self.node(node).peer(&address(node)) };
        let options = RouterOptions {
            attempt_ms: 60_000,
            leaderless_ms: 60_000,
            call_ms: 60_000,
            retry_pause_ms: (1, 4),
            ..RouterOptions::new(SuffixList::shipped())
        };
        let peers = (1..=5).map(peer).collect();
        Arc::new(Router::connect(peers, options).await.unwrap())
    }

    fn calls(&self) -> [usize; 5] {
        std::array::from_fn(|node| self.nodes[node].calls())
    }
}

fn lease(shard: u64, number: u64) -> pb::LeaseRequest {
    pb::LeaseRequest {
        shard,
        number,
        wait_ms: 30_000,
        ..Default::default()
    }
}

fn report(shard: u64) -> pb::ReportRequest {
    pb::ReportRequest {
        shard,
        items: Vec::new(),
    }
}

#[tokio::test]
async fn only_a_shards_replicas_are_asked_for_it() {
    let five = Five::new();
    for node in [1, 2, 3] {
        five.node(node).becomes_for(1, Role::Follows(String::new()));
    }
    five.node(3).becomes_for(1, Role::Elects(3, String::new()));
    let frontier = RoutedFrontier::new(five.router().await);
    frontier.report(report(1)).await.unwrap();
    let calls = five.calls();
    assert!(calls[0] > 0 && calls[1] > 0 && calls[2] > 0, "{calls:?}");
    assert_eq!(calls[3..], [0, 0], "{calls:?}");
}

/// A shard moves off its leader's node while a lease, a report and an offer are under way there: each goes on where the shard is
/// now, the lease under the same number, and nobody asks the old place again.
#[tokio::test]
async fn a_shard_moves_away_while_calls_are_under_way() {
    let five = Five::new();
    let router = five.router().await;
    let frontier = RoutedFrontier::new(Arc::clone(&router));
    frontier.report(report(1)).await.unwrap();
    five.node(1).becomes_for(1, Role::Parks);
    let under_way = async {
        let offer = router.offer(vec![link(5, "http://a.example/")]);
        tokio::join!(
            frontier.lease(lease(1, 7)),
            frontier.report(report(1)),
            offer
        )
    };
    let mut under_way = Box::pin(under_way);
    while five.node(1).calls() < 4 {
        assert!((&mut under_way).now_or_never().is_none());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let others: usize = five.calls()[1..].iter().sum();
    assert_eq!(others, 0);
    // Node 2 has not heard of it in the map, and follows all the same.
    five.place(2, &[2, 3, 4], 4, &[1, 3, 4, 5]);
    let (leased, reported, offered) = under_way.await;
    assert!(leased.is_ok() && reported.is_ok());
    assert_eq!(offered.results[0].as_ref().unwrap().code(), Code::New);
    let numbers: Vec<u64> = [1, 4]
        .into_iter()
        .flat_map(|node| five.node(node).leases.lock().clone())
        .map(|lease| lease.number)
        .collect();
    assert_eq!(numbers, [7, 7]);
    assert_eq!(router.map_version(), 2);
    let before = five.calls();
    frontier.report(report(1)).await.unwrap();
    let after = five.calls();
    assert_eq!((after[0], after[3]), (before[0], before[3] + 1));
    assert_eq!(after[4], 0, "it never had the shard: {after:?}");
}

/// The one who was asked knows where the shard is before any map does.
#[tokio::test]
async fn a_hint_is_followed_where_no_map_says_so_yet() {
    let five = Five::new();
    let router = five.router().await;
    five.place(1, &[4, 5], 5, &[]);
    let frontier = RoutedFrontier::new(Arc::clone(&router));
    frontier.report(report(1)).await.unwrap();
    assert_eq!(router.map_version(), 1);
    let before = five.calls();
    frontier.report(report(1)).await.unwrap();
    let after = five.calls();
    assert_eq!(after[4], before[4] + 1, "remembered");
    assert_eq!(after[..4], before[..4]);
}

/// All replicas that the map names were switched off since: the map is read again of somebody who knows better.
#[tokio::test]
async fn replicas_that_are_all_gone_are_looked_for_in_a_newer_map() {
    let five = Five::new();
    let router = five.router().await;
    five.place(2, &[4, 5], 4, &[4, 5]);
    let gone = CallError::Unavailable {
        reason: "switched off".to_owned(),
        retry_after_ms: 0,
    };
    for node in [1, 2, 3] {
        five.node(node).becomes_for(1, Role::Fails(gone.clone()));
    }
    let frontier = RoutedFrontier::new(Arc::clone(&router));
    frontier.report(report(1)).await.unwrap();
    assert_eq!((router.map_version(), five.node(4).calls()), (2, 1));
}

/// A node whose map is behind names the old replicas, which name it: nobody turns in circles for ever, and whoever leads in the
/// end is found.
#[tokio::test]
async fn two_that_send_to_each_other_are_no_trap() {
    let five = Five::new();
    let router = five.router().await;
    for node in 1..=5 {
        let other = if node == 1 { 2 } else { 1 };
        let role = Role::Elsewhere(1, addresses(&[other]));
        five.node(node).becomes_for(1, role);
    }
    let frontier = RoutedFrontier::new(Arc::clone(&router));
    let mut call = Box::pin(frontier.report(report(1)));
    while five.calls()[..2].iter().any(|calls| *calls < 2) {
        assert!((&mut call).now_or_never().is_none());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    five.place(2, &[1, 2, 3], 3, &[1, 2, 3, 4, 5]);
    call.await.unwrap();
    assert!(five.node(3).calls() >= 1);
}

/// Nodes that join are known by the next map, those that left are forgotten; what the program was given stays.
#[tokio::test]
async fn peers_follow_the_map() {
    let node = FakeNode::new(Role::Leads);
    let told = |version, nodes: &[&str]| pb::ShardMapResponse {
        node_addresses: nodes.iter().map(|node| (*node).to_owned()).collect(),
        ..map(version, &[(1, 0, u64::MAX)])
    };
    *node.map.lock() = told(1, &["127.0.0.1:1", "127.0.0.1:2"]);
    let options = RouterOptions::new(SuffixList::shipped());
    let router = Router::connect(vec![node.peer("n1:1")], options)
        .await
        .unwrap();
    assert_eq!(router.addresses(), ["n1:1", "127.0.0.1:1", "127.0.0.1:2"]);
    *node.map.lock() = told(2, &["127.0.0.1:2", "127.0.0.1:3"]);
    router.refresh().await.unwrap();
    assert_eq!(router.addresses(), ["n1:1", "127.0.0.1:2", "127.0.0.1:3"]);
}

/// A shard of which nobody says where it is may be anywhere, as in a cluster without a map.
#[tokio::test]
async fn without_places_everybody_is_asked() {
    let five = Five::new();
    for node in 1..=5 {
        let node = five.node(node);
        *node.map.lock() = map(1, &[(1, 0, 9), (2, 10, u64::MAX)]);
        node.becomes_for(1, Role::Follows(String::new()));
    }
    five.node(5).becomes_for(1, Role::Leads);
    let frontier = RoutedFrontier::new(five.router().await);
    frontier.report(report(1)).await.unwrap();
    assert_eq!(five.node(5).calls(), 1);
}
