//! One run from its seed to its judgement.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use shard_map::{GROUP_ZERO, Plan as Job};

use super::audit::audit;
use super::bug::Bug;
use super::cluster::Cluster;
use super::nemesis::Nemesis;
use super::plan::Plan;
use super::replicas::Replicas;
use super::rng::Rng;
use super::trace::{Trace, TraceEnd};
use super::watchdog::Watchdog;

/// How long setting up the crawls may take before the first fault.
const PEACE_MS: u64 = 120_000;
/// Between two checks of the replicas.
const CHECK_EVERY_MS: u64 = 300;

/// What a run came to.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) plan: Plan,
    pub(super) trace: TraceEnd,
    pub(super) virtual_ms: u64,
    pub(super) faults: u64,
    pub(super) checks: u64,
    pub(super) contacts: u64,
    pub(super) shortest_gap_ms: Option<u64>,
    pub(super) leases: u64,
    pub(super) lost_reports: u64,
    pub(super) accepted: u64,
    pub(super) splits: u64,
    pub(super) moves: u64,
    pub(super) drains: u64,
    pub(super) wrong_shards: u64,
    pub(super) fed_children: u64,
}

impl Outcome {
    /// What a reader needs of a run that broke a promise.
    pub(super) fn story(&self) -> String {
        let mut story = format!("seed {} broke:\n", self.plan.seed);
        for violation in &self.trace.violations {
            story.push_str(&format!("  {violation}\n"));
        }
        story.push_str(&format!("plan {:?}\nthe last events:\n", self.plan));
        for event in &self.trace.last {
            story.push_str(&format!("  {event}\n"));
        }
        story
    }
}

/// A directory of memory where there is one.
pub(super) fn base_dir() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    }
}

/// Runs a seed.
pub(super) fn run(seed: u64, bug: Option<Bug>, is_loud: bool) -> Outcome {
    let plan = Plan::new(seed, bug);
    let root = tempfile::Builder::new()
        .prefix("escapement-sim-")
        .tempdir_in(base_dir())
        .unwrap();
    raftlog::seed_randomness(Some(Rng::new(seed, 7).next()));
    client::seed_jitter(Some(Rng::new(seed, 8).next()));
    let trace = Arc::new(Trace::new(is_loud));
    let mut cluster = Cluster::start_all(&plan, root.path(), &trace);
    let watchdog = Watchdog::new(seed, root.path(), &trace);
    let mut replicas = Replicas::default();
    while !cluster.world.is_set_up.load(Ordering::Relaxed) && !trace.is_broken() {
        step(&mut cluster, &mut replicas);
        if cluster.awake_ms > PEACE_MS {
            trace.violation("the crawls are not set up, though all is well");
        }
    }
    trace.event("peace ends");
    let peace_ms = cluster.awake_ms;
    let until_ms = peace_ms + plan.fault_ms;
    let mut nemesis = Nemesis::new(&plan, (peace_ms, until_ms));
    while cluster.awake_ms < until_ms && !trace.is_broken() {
        nemesis.act(&mut cluster);
        step(&mut cluster, &mut replicas);
    }
    if !trace.is_broken() {
        trace.event("heal");
        nemesis.heal(&mut cluster);
        cluster.world.is_healed.store(true, Ordering::Relaxed);
        cluster.add_fetcher();
        cluster.spawn(audit(Arc::clone(&cluster.world)));
    }
    let healed_ms = cluster.awake_ms + plan.heal_ms;
    while !trace.is_broken() && !cluster.world.is_over.load(Ordering::Relaxed) {
        step(&mut cluster, &mut replicas);
        if cluster.awake_ms > healed_ms {
            trace.violation("P2: not everything is done, long after all was mended");
        }
    }
    raftlog::seed_randomness(None);
    client::seed_jitter(None);
    drop(watchdog);
    let (contacts, shortest_gap_ms) = cluster.world.web.totals();
    let (leases, lost_reports) = cluster.world.oracle.totals();
    Outcome {
        trace: trace.end(),
        virtual_ms: cluster.awake_ms,
        faults: nemesis.faults(),
        checks: replicas.checks(),
        contacts,
        shortest_gap_ms,
        leases,
        lost_reports,
        accepted: cluster.world.oracle.all_accepted().len() as u64,
        splits: cluster.world.splits.done(),
        moves: cluster
            .world
            .zero
            .done(|plan| matches!(plan, Job::Move(of) if of.shard != GROUP_ZERO)),
        drains: cluster
            .world
            .zero
            .done(|plan| matches!(plan, Job::Drain(_))),
        wrong_shards: cluster.world.wrong_shards(),
        fed_children: replicas.fed(),
        plan,
    }
}

fn step(cluster: &mut Cluster, replicas: &mut Replicas) {
    cluster.step();
    if cluster.awake_ms.is_multiple_of(CHECK_EVERY_MS) {
        replicas.check(cluster);
    }
}
