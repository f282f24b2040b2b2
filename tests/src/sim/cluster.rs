//! All processes of one run, and true time.

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use super::clients;
use super::clock::FetcherClock;
use super::copies;
use super::fetcher::Fetcher;
use super::moves;
use super::net::{Net, WORLD};
use super::plan::Plan;
use super::process::{Process, virtual_runtime};
use super::rng::Rng;
use super::trace::Trace;
use super::world::World;

/// True time between two turns of the processes, ms. Messages take at least as long.
const STEP_MS: u64 = 2;

/// Clients that offer and forget.
const FORGETTING_CLIENTS: u64 = 2;

/// The processes of a run.
pub(super) struct Cluster {
    pub(super) now_ms: u64,
    /// True time without long sleeps.
    pub(super) awake_ms: u64,
    pub(super) world: Arc<World>,
    pub(super) trace: Arc<Trace>,
    processes: Vec<Process>,
    runtime: Runtime,
    fetchers: Vec<Vec<AbortHandle>>,
    sessions: u64,
    rng: Rng,
}

impl Cluster {
    /// Starts all nodes.
    pub(super) fn start_nodes(plan: &Plan, root: &Path, trace: &Arc<Trace>) -> Self {
        let net = Net::new(plan, Arc::clone(trace));
        let runtime = virtual_runtime(plan.seed);
        let origin = runtime.block_on(async { tokio::time::Instant::now() });
        let world = World::new(plan.clone(), net, Arc::clone(trace), origin);
        let mut cluster = Self {
            now_ms: 0,
            awake_ms: 0,
            world: Arc::new(world),
            trace: Arc::clone(trace),
            processes: (1..=plan.nodes).map(|id| Process::new(id, root)).collect(),
            runtime,
            fetchers: Vec::new(),
            sessions: 0,
            rng: Rng::new(plan.seed, 6),
        };
        (1..=plan.founders).for_each(|node| cluster.start(node));
        cluster
    }

    /// Starts all nodes, fetchers and clients.
    pub(super) fn start_all(plan: &Plan, root: &Path, trace: &Arc<Trace>) -> Self {
        let mut cluster = Self::start_nodes(plan, root, trace);
        for _ in 0..plan.fetchers {
            cluster.add_fetcher();
        }
        let world = &cluster.world;
        if plan.has_moves() {
            cluster.runtime.spawn(copies::tell(Arc::clone(world)));
            cluster.runtime.spawn(moves::drive(Arc::clone(world)));
        }
        cluster.runtime.spawn(clients::seed(Arc::clone(world)));
        for client in 1..=FORGETTING_CLIENTS {
            let work = clients::forget_and_repeat(Arc::clone(world), client);
            cluster.runtime.spawn(work);
        }
        cluster
    }

    pub(super) fn process(&self, node: u64) -> &Process {
        &self.processes[node as usize - 1]
    }

    pub(super) fn process_mut(&mut self, node: u64) -> &mut Process {
        &mut self.processes[node as usize - 1]
    }

    /// Starts a node that is down.
    pub(super) fn start(&mut self, node: u64) {
        if !self.process(node).is_up() {
            let (now_ms, world) = (self.now_ms, Arc::clone(&self.world));
            self.trace.event(format!("start {node}"));
            self.process_mut(node).start(now_ms, &world);
        }
    }

    /// True time goes on by one step.
    pub(super) fn step(&mut self) {
        self.now_ms += STEP_MS;
        self.awake_ms += STEP_MS;
        self.trace.at(self.now_ms);
        for delivery in self.world.net.advance(self.now_ms) {
            if delivery.to == WORLD {
                let context = self.runtime.enter();
                (delivery.run)(None);
                drop(context);
            } else {
                self.process_mut(delivery.to).deliver(delivery);
            }
        }
        for process in &self.processes {
            process.run_until(self.now_ms);
        }
        let until = self.world.origin + std::time::Duration::from_millis(self.now_ms);
        self.runtime
            .block_on(async { tokio::time::sleep_until(until).await });
    }

    /// Everything stands still for so long. Nodes stay stopped; the world wakes at once.
    pub(super) fn sleep_all(&mut self, ms: u64, clock_stands: bool) {
        for process in &mut self.processes {
            process.stop(clock_stands);
        }
        self.now_ms += ms - ms % STEP_MS;
        self.trace.at(self.now_ms);
        let gap = std::time::Duration::from_millis(ms - ms % STEP_MS);
        self.runtime
            .block_on(async { tokio::time::advance(gap).await });
    }

    /// A node that believes to lead that shard.
    pub(super) fn some_leader(&self, shard: u64) -> Option<u64> {
        (1..=self.world.plan.nodes).find(|node| {
            self.process(*node).node().is_some_and(|open| {
                open.engine()
                    .group(shard)
                    .is_some_and(|group| group.status().is_leader)
            })
        })
    }

    /// RocksDB flushes on its own.
    pub(super) fn flush_unnoticed(&self, node: u64) {
        if let Some(open) = self.process(node).node() {
            self.trace.event(format!("rows of {node} are flushed"));
            raftlog::testing::flush_unnoticed(&open.engine()).unwrap();
        }
    }

    /// Starts a fetcher with a session of its own.
    pub(super) fn add_fetcher(&mut self) {
        self.sessions += 1;
        let fetcher = Arc::new(Fetcher {
            world: Arc::clone(&self.world),
            session: self.sessions,
            clock: FetcherClock {
                origin: self.world.origin,
                ppm: *self.rng.pick(&[-500, 0, 500]),
            },
        });
        let shards = 1..=self.world.plan.shards;
        let tasks = shards.map(|shard| {
            let task = self.runtime.spawn(Arc::clone(&fetcher).run(shard));
            task.abort_handle()
        });
        let mut tasks: Vec<AbortHandle> = tasks.collect();
        if self.world.plan.splits > 0 {
            let task = self.runtime.spawn(fetcher.follow_splits());
            tasks.push(task.abort_handle());
        }
        self.fetchers.push(tasks);
    }

    /// One fetcher dies with all it holds; another comes.
    pub(super) fn replace_fetcher(&mut self, which: u64) {
        let place = (which % self.fetchers.len() as u64) as usize;
        for task in self.fetchers.swap_remove(place) {
            task.abort();
        }
        self.add_fetcher();
    }

    /// Runs a client's task.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }
}
