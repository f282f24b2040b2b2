//! Whole fetchers over several shards through the routing client: few slots, dead shards, silent processes.

use std::sync::Arc;
use std::time::Duration;

use client::{Frontier, Peer, RoutedFrontier, Router, RouterOptions};
use pb::page_outcome::Code;
use proto::frontier_v1 as pb;
use urlkey::SuffixList;

use crate::Fetcher;
use crate::config::FetcherConfig;
use crate::dns::Dns;
use crate::metrics::Metrics;
use crate::testing::{Mood, Reply, Rig, ScriptedNames, Server, Shards, html, page_lease};

/// No test waits longer for something that does not come.
const PATIENCE: Duration = Duration::from_secs(60);

fn options() -> RouterOptions {
    RouterOptions {
        attempt_ms: 200,
        leaderless_ms: 150,
        offer_patience_ms: 0,
        retry_pause_ms: (1, 10),
        ..RouterOptions::new(SuffixList::shipped())
    }
}

async fn fetcher_over(
    peers: Vec<Peer>,
    server: &Server,
    change: impl FnOnce(&mut FetcherConfig),
) -> (Fetcher, Arc<Router>) {
    let mut config = Rig::config();
    config.http.resolve = vec![format!("*={}", server.addr).parse().unwrap()];
    config.poll_wait_ms = 60_000;
    change(&mut config);
    let (mut parts, _, _) = Rig::parts(config, Dns::new(ScriptedNames::new([])), &[]);
    let router = Arc::new(Router::connect(peers, options()).await.unwrap());
    parts.frontier = Arc::new(RoutedFrontier::new(Arc::clone(&router)));
    parts.links = Arc::clone(&router) as _;
    (Fetcher::new(parts).unwrap(), router)
}

/// Two processes that both lead everything, so that a silent one is not the only one.
fn peers(shards: &Arc<Shards>) -> Vec<Peer> {
    ["a:1", "b:2"]
        .map(|address| Peer {
            address: address.to_owned(),
            frontier: Arc::clone(shards) as Arc<dyn Frontier>,
        })
        .into()
}

/// Runs until so many leases have ended, then stops.
async fn run(fetcher: Fetcher, shards: &Shards, count: usize) -> Arc<Metrics> {
    let (stop, metrics) = (fetcher.stop_handle(), fetcher.metrics());
    let running = tokio::spawn(fetcher.run());
    let ended = tokio::time::timeout(PATIENCE, shards.ended(count)).await;
    assert!(ended.is_ok(), "leases are still open or not granted");
    stop.cancel();
    assert!(running.await.unwrap());
    metrics
}

fn tokens(reports: &[pb::Report]) -> Vec<u64> {
    reports.iter().map(|report| report.token).collect()
}

/// A host whose owner is this shard.
fn host_of(router: &Router, shard: u64) -> String {
    (0..)
        .map(|i| format!("site{i}.example"))
        .find(|host| router.owner(router.partition_of_host(host)) == Some(shard))
        .unwrap()
}

/// Eight shards, three slots, polls of a minute: parked polls give up their slots, every shard is heard, and nothing is ever
/// leased that has no slot (none comes back unstarted, no more than three are open).
#[tokio::test]
async fn parked_polls_keep_no_slot_from_others() {
    let server = Server::always(html("x")).await;
    let shards = Shards::new(8);
    let (fetcher, _) =
        fetcher_over(peers(&shards), &server, |config| config.open_fetches = 3).await;
    let feeding = Arc::clone(&shards);
    let feed = tokio::spawn(async move {
        // Work comes late, to one shard after the other, while others are parked.
        for round in 0..4 {
            for shard in 1..=8 {
                let token = round * 10 + shard;
                feeding.queue(shard, &format!("http://h{token}.example/"), token);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    });
    let metrics = run(fetcher, &shards, 32).await;
    feed.await.unwrap();
    assert!((1..=8).all(|shard| shards.reports(shard).len() == 4));
    assert!(shards.most_open() <= 3, "{} open", shards.most_open());
    assert_eq!((shards.released(), metrics.leases.get()), (Vec::new(), 32));
    assert!(metrics.polls_cut.get() > 0);
    assert_eq!(shards.sessions.lock().len(), 1);
}

/// A shard is split while a lease of what the child gets is out and a poll of a minute is parked: the end of the lease goes to the
/// child, the poll is answered, and the child is asked at once.
#[tokio::test]
async fn a_split_is_followed() {
    let shards = Shards::unsplit();
    let splitting = Arc::clone(&shards);
    let server = Server::start(move |_| {
        splitting.split();
        Reply::Bytes(html("x"))
    })
    .await;
    let (fetcher, router) = fetcher_over(peers(&shards), &server, |_| {}).await;
    let mut moved = page_lease("http://a.example/", 1);
    if let Some(key) = &mut moved.key {
        key.partition = u64::MAX;
    }
    shards.queue_lease(1, moved);
    shards.queue(2, "http://b.example/", 2);
    run(fetcher, &shards, 2).await;
    assert_eq!(tokens(&shards.reports(1)), [0; 0]);
    let mut reported = tokens(&shards.reports(2));
    reported.sort_unstable();
    assert_eq!(reported, [1, 2]);
    assert_eq!((router.map_version(), router.shards().len()), (2, 2));
}

/// With slots for all a poll stays parked: no shard is asked again and again.
#[tokio::test]
async fn with_slots_to_spare_polls_stay_parked() {
    let server = Server::always(html("x")).await;
    let shards = Shards::new(4);
    let (fetcher, _) =
        fetcher_over(peers(&shards), &server, |config| config.open_fetches = 40).await;
    shards.queue(1, "http://a.example/", 1);
    let metrics = run(fetcher, &shards, 1).await;
    // Cut by the stop only: one each, asked again once.
    assert!(metrics.polls_cut.get() <= 4);
    let calls: usize = (1..=4).map(|shard| shards.lease_calls(shard)).sum();
    assert!(calls <= 12, "{calls} lease calls");
}

/// case B22: what hangs at a dead shard takes no slot from the living: neither lease calls nor reports.
#[tokio::test]
async fn a_dead_shard_takes_no_slots() {
    for mood in [Mood::Dead, Mood::Silent] {
        let shards = Shards::new(3);
        let dying = Arc::clone(&shards);
        // Two leases of shard 2 are in hand when it dies.
        let server = Server::start(move |target| {
            if target == "/last" {
                dying.is(2, mood);
                dying.is(3, mood);
            }
            Reply::Bytes(html("x"))
        })
        .await;
        let (fetcher, _) =
            fetcher_over(peers(&shards), &server, |config| config.open_fetches = 2).await;
        shards.queue(2, "http://b.example/last", 100);
        let feeding = Arc::clone(&shards);
        let server_heads = server.heads_handle();
        let feed = tokio::spawn(async move {
            while server_heads.lock().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            for token in 1..=12 {
                feeding.queue(1, &format!("http://h{token}.example/"), token);
            }
            // The dead one comes back, and its lease ends as it should.
            tokio::time::timeout(PATIENCE, feeding.ended(12))
                .await
                .unwrap();
            feeding.is(2, Mood::Leads);
            feeding.is(3, Mood::Leads);
        });
        let metrics = run(fetcher, &shards, 13).await;
        feed.await.unwrap();
        assert_eq!(shards.reports(1).len(), 12, "{mood:?}");
        assert_eq!(tokens(&shards.reports(2)), [100]);
        assert_eq!(metrics.reports_failed.get(), 0);
    }
}

/// A page that links into a dead shard: its other links are delivered, those travel with its report, it is fetched once, and the
/// next such page does not wait for the dead shard again. When the shard is back, links go there again.
#[tokio::test]
async fn links_into_a_dead_shard_travel_with_the_report() {
    let shards = Shards::new(2);
    let probe = Router::connect(peers(&shards), options()).await.unwrap();
    let (living, dead) = (host_of(&probe, 1), host_of(&probe, 2));
    let page = format!("<a href=http://{living}/x>x</a><a href=http://{dead}/y>y</a>");
    let server = Server::start(move |target| {
        let target = target.trim_start_matches('/');
        let page = page.replace("/x>", &format!("/x{target}>"));
        Reply::Bytes(html(&page.replace("/y>", &format!("/y{target}>"))))
    })
    .await;
    let (fetcher, router) = fetcher_over(peers(&shards), &server, |_| {}).await;
    shards.is(2, Mood::Dead);
    for token in 1..=3 {
        shards.queue(1, &format!("http://p{token}.example/{token}"), token);
    }
    let (stop, metrics) = (fetcher.stop_handle(), fetcher.metrics());
    let running = tokio::spawn(fetcher.run());
    tokio::time::timeout(PATIENCE, shards.ended(3))
        .await
        .unwrap();
    for report in shards.reports(1) {
        let Some(pb::report::Outcome::Page(page)) = &report.outcome else {
            panic!("no page")
        };
        assert_eq!(page.code(), Code::Stored);
        let carried: Vec<_> = report
            .undelivered
            .iter()
            .filter_map(|item| match &item.item {
                Some(pb::discover_item::Item::Link(link)) => Some(link.url.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(carried, [format!("http://{dead}/y{}", report.token)]);
    }
    assert_eq!((shards.links(1).len(), shards.links(2).len()), (3, 0));
    assert_eq!(server.heads().len(), 3, "each page is fetched once");
    assert_eq!(metrics.links_undelivered.get(), 3);
    shards.is(2, Mood::Leads);
    for token in 4..1_000 {
        shards.queue(1, &format!("http://p{token}.example/{token}"), token);
        let ended = usize::try_from(token).unwrap();
        tokio::time::timeout(PATIENCE, shards.ended(ended))
            .await
            .unwrap();
        if !shards.links(2).is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!shards.links(2).is_empty() && router.traffic().dead_shards() > 0);
    stop.cancel();
    assert!(running.await.unwrap());
}

/// case L29: time lost on a silent process counts against the lease: the deadline is counted from before the first try. A lease
/// that leaves no whole fetch then is given back, although by the answer's own time there would be one.
#[tokio::test]
async fn the_deadline_is_counted_from_before_the_first_try() {
    let server = Server::always(html("x")).await;
    let (silent, answering) = (Shards::new(1), Shards::new(1));
    let peers = vec![
        Peer {
            address: "a:1".to_owned(),
            frontier: Arc::clone(&silent) as Arc<dyn Frontier>,
        },
        Peer {
            address: "b:2".to_owned(),
            frontier: Arc::clone(&answering) as Arc<dyn Frontier>,
        },
    ];
    let (fetcher, _) = fetcher_over(peers, &server, |config| {
        config.poll_wait_ms = 300;
        config.open_fetches = 1;
    })
    .await;
    silent.is(1, Mood::Silent);
    // A whole fetch and the margin fit, with 200 ms to spare; the silent process costs 500 ms.
    let lease = pb::Lease {
        remaining_ms: 20_000 + 1_043 + 200,
        ..page_lease("http://a.example/", 1)
    };
    answering.queue_lease(1, lease);
    let metrics = run(fetcher, &answering, 1).await;
    assert_eq!(answering.released(), [1]);
    assert_eq!((metrics.out_of_time.get(), server.heads().len()), (1, 0));
}

/// A stop does not wait for a shard that does not answer.
#[tokio::test]
async fn a_stop_with_a_dead_shard_ends_in_time() {
    let shards = Shards::new(2);
    let dying = Arc::clone(&shards);
    let server = Server::start(move |_| {
        dying.is(1, Mood::Silent);
        Reply::Bytes(html("x"))
    })
    .await;
    let (fetcher, _) = fetcher_over(peers(&shards), &server, |config| {
        config.shutdown_ms = 1_000;
    })
    .await;
    shards.queue(1, "http://a.example/", 1);
    let stop = fetcher.stop_handle();
    let running = tokio::spawn(fetcher.run());
    while server.heads().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stop.cancel();
    // It ends, and says that not everything was said.
    let complete = tokio::time::timeout(PATIENCE, running).await.unwrap();
    assert!(!complete.unwrap());
    assert_eq!(shards.reports(1).len(), 0);
}
