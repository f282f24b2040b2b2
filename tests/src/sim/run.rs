//! One run from its seed to its judgement.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::audit::audit;
use super::bug::Bug;
use super::cluster::{Cluster, STEP_MS};
use super::nemesis::Nemesis;
use super::plan::Plan;
use super::replicas::Replicas;
use super::rng::Rng;
use super::trace::{Trace, TraceEnd};

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
}

impl Outcome {
    /// Whether every promise was kept.
    pub(super) fn is_clean(&self) -> bool {
        self.trace.violations.is_empty()
    }

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
fn base_dir() -> PathBuf {
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
    let mut nemesis = Nemesis::new(seed, plan.fault_pause_ms, plan.fault_ms);
    let mut replicas = Replicas::default();
    // Long sleeps do not count.
    let mut steps = 0;
    while steps * STEP_MS < plan.fault_ms && !trace.is_broken() {
        steps += 1;
        nemesis.act(&mut cluster);
        cluster.step();
        if (steps * STEP_MS).is_multiple_of(CHECK_EVERY_MS) {
            replicas.check(&cluster);
        }
    }
    if !trace.is_broken() {
        trace.event("heal");
        nemesis.heal(&mut cluster);
        cluster.world.is_healed.store(true, Ordering::Relaxed);
        cluster.add_fetcher();
        cluster.spawn(audit(Arc::clone(&cluster.world)));
    }
    let heal_steps = steps + plan.heal_ms / STEP_MS;
    while !trace.is_broken() && !cluster.world.is_over.load(Ordering::Relaxed) {
        steps += 1;
        cluster.step();
        if (steps * STEP_MS).is_multiple_of(CHECK_EVERY_MS) {
            replicas.check(&cluster);
        }
        if steps == heal_steps {
            trace.violation("P2: not everything is done, long after all was mended");
        }
    }
    raftlog::seed_randomness(None);
    client::seed_jitter(None);
    let (contacts, shortest_gap_ms) = cluster.world.web.totals();
    let (leases, lost_reports) = cluster.world.oracle.totals();
    Outcome {
        trace: trace.end(),
        virtual_ms: steps * STEP_MS,
        faults: nemesis.faults(),
        checks: replicas.checks(),
        contacts,
        shortest_gap_ms,
        leases,
        lost_reports,
        accepted: cluster.world.oracle.all_accepted().len() as u64,
        plan,
    }
}
