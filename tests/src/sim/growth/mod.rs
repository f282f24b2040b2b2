//! What coordination costs as a cluster grows: the same shards, hosts and fetchers a node, on few nodes and on many, without
//! faults, in virtual time. Each shard has three replicas, placed by the ring.
//!
//! Virtual time knows no CPU: a node computes as fast as it likes, and only messages and syncs take time. So the rate says
//! whether anything waits for everything else as the number of nodes grows; what a page costs is counted in calls, entries,
//! syncs and bytes, which hold wherever it runs.
//!
//! | file | concept |
//! |---|---|
//! | `fetcher` | a fetcher that routes as the real one does |
//! | `figures` | what was counted |
//! | `tests` | from 3 nodes on |

mod fetcher;
mod figures;
mod tests;

use std::sync::Arc;

use client::{Peer, Router, RouterOptions};
use urlkey::SuffixList;

use super::clients::set_policies;
use super::cluster::Cluster;
use super::copies;
use super::plan::{CRAWL, Plan};
use super::process::address;
use super::trace::Trace;
use super::watchdog::Watchdog;
use super::world::{World, link};
use fetcher::{Counts, Growing};
use figures::{Figures, Moment};

/// Shards, hosts and open fetches for each node. Each host gives about one page in its delay.
pub(super) const SHARDS_A_NODE: u64 = 2;
const HOSTS_A_NODE: u64 = 16;
const PAGES_A_HOST: u64 = 40;
/// Nodes for each fetcher.
const NODES_A_FETCHER: u64 = 3;
/// Open fetches of a fetcher: twice as many as its share of the hosts keeps busy.
const SLOTS: usize = 96;
/// Virtual time before what is counted, and what is counted, ms.
const WARM_UP_MS: u64 = 4_000;
const COUNTED_MS: u64 = 10_000;
/// Virtual time in which the cluster must be set up.
const SET_UP_MS: u64 = 60_000;

/// Runs a cluster of so many nodes.
fn grow(nodes: u64, seed: u64) -> Figures {
    let plan = Plan::growing(seed, nodes, HOSTS_A_NODE * nodes, PAGES_A_HOST);
    let root = tempfile::Builder::new()
        .prefix("escapement-sim-")
        .tempdir_in(super::run::base_dir())
        .unwrap();
    raftlog::seed_randomness(Some(seed));
    client::seed_jitter(Some(seed));
    let trace = Arc::new(Trace::new(false));
    let started = std::time::Instant::now();
    let mut cluster = Cluster::start_nodes(&plan, root.path(), &trace);
    let watchdog = Watchdog::new(seed, root.path(), &trace);
    let world = Arc::clone(&cluster.world);
    let counts = Arc::new(Counts::default());
    cluster.spawn(copies::tell(Arc::clone(&world)));
    cluster.spawn(crawl(Arc::clone(&world), Arc::clone(&counts)));
    while !counts.are_set_up() {
        step(&mut cluster);
        assert!(cluster.now_ms < SET_UP_MS, "the cluster is not set up");
    }
    run_for(&mut cluster, WARM_UP_MS);
    let before = Moment::now(&cluster, &counts);
    run_for(&mut cluster, COUNTED_MS);
    let after = Moment::now(&cluster, &counts);
    raftlog::seed_randomness(None);
    client::seed_jitter(None);
    drop(watchdog);
    Figures::between(&plan, &before, &after, started.elapsed())
}

fn run_for(cluster: &mut Cluster, ms: u64) {
    let until_ms = cluster.now_ms + ms;
    while cluster.now_ms < until_ms {
        step(cluster);
    }
}

fn step(cluster: &mut Cluster) {
    cluster.step();
    assert!(!cluster.trace.is_broken(), "{:?}", cluster.trace.end());
}

/// Sets the crawl up and starts all fetchers.
async fn crawl(world: Arc<World>, counts: Arc<Counts>) {
    for shard in 1..=world.plan.shards {
        set_policies(&world, shard).await;
    }
    let fetchers = world.plan.nodes.div_ceil(NODES_A_FETCHER);
    for number in 1..=fetchers {
        let router = router(&world).await;
        let roots = (0..world.plan.hosts).filter(|host| host % fetchers == number - 1);
        let roots = roots.map(|host| link(CRAWL, &world.plan.page(host)));
        let offered = router.offer(roots.collect()).await;
        assert!(offered.undelivered.is_empty(), "roots are not taken");
        let growing = Growing::new(&world, router, &counts, number);
        growing.start();
    }
    counts.set_up();
}

/// A router of a process outside all nodes.
async fn router(world: &Arc<World>) -> Arc<Router> {
    let peer = |node| Peer {
        address: address(node),
        frontier: Arc::new(world.node(node)),
    };
    let options = RouterOptions {
        origin: "growing".to_owned(),
        ..RouterOptions::new(SuffixList::shipped())
    };
    loop {
        let peers = (1..=world.plan.nodes).map(peer).collect();
        match Router::connect(peers, options.clone()).await {
            Ok(router) => return Arc::new(router),
            Err(error) => world.trace.event(format!("no map yet: {error}")),
        }
        world.sleep((50, 200)).await;
    }
}
