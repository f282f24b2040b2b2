//! A node as a process: a runtime of its own, which is dropped when the power goes, and stands still when it is stopped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::Peer;
use frontier_node::cluster::{AddressBook, NodeEntry};
use frontier_node::{Descriptor, FrontierNode, MapView, NodeOptions};
use raftlog::testing::{copy_after_power_loss, flush_unnoticed};
use raftlog::{EngineOptions, RaftTiming, Threads};
use tokio::runtime::{Builder, RngSeed, Runtime};
use tokio::sync::watch;
use urlkey::{FingerprintKey, SuffixList};

use super::bug::Switch;
use super::clock::NodeClocks;
use super::disk::Disk;
use super::net::{Delivery, Net, RemoteFrontier, SimTransport};
use super::plan::{FOUNDERS, Plan};
use super::rng::Rng;
use super::world::World;

/// A runtime with a clock of its own that nothing real moves.
pub(super) fn virtual_runtime(seed: u64) -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .rng_seed(RngSeed::from_bytes(&seed.to_le_bytes()))
        .build()
        .unwrap()
}

/// The name of a node in hints.
pub(super) fn address(node: u64) -> String {
    format!("node-{node}")
}

/// What a power loss leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loss {
    /// Of what was written to the log and not synced, so much in a thousand.
    pub(super) log_kept_permille: u64,
    /// The rows had just been flushed unasked.
    pub(super) state_is_flushed: bool,
}

/// One life of a process.
struct Life {
    runtime: Runtime,
    origin: tokio::time::Instant,
    disk: Arc<Disk>,
    /// True time at the origin, with what was slept through since.
    true_start_ms: Arc<AtomicU64>,
    /// Filled when the node is open.
    node: Arc<Mutex<Option<Arc<FrontierNode>>>>,
    dir: PathBuf,
}

/// A pause that is under way.
#[derive(Debug, Clone, Copy)]
struct Stopped {
    /// Its monotonic clock stands still meanwhile, as in a machine that sleeps.
    clock_stands: bool,
}

/// A node, over all its lives.
pub(super) struct Process {
    id: u64,
    root: PathBuf,
    lives: u64,
    life: Option<Life>,
    stopped: Option<Stopped>,
    /// Messages that came while it was stopped.
    held: Vec<Delivery>,
    pub(super) wall_offset_ms: Arc<AtomicI64>,
}

impl Process {
    pub(super) fn new(id: u64, root: &Path) -> Self {
        Self {
            id,
            root: root.to_owned(),
            lives: 0,
            life: None,
            stopped: None,
            held: Vec::new(),
            wall_offset_ms: Arc::default(),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.life.is_some()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Whether its log is in the middle of a sync.
    pub(super) fn is_syncing(&self) -> bool {
        self.life
            .as_ref()
            .is_some_and(|life| life.disk.is_syncing())
    }

    /// Whether a replica that is out of use is not removed yet.
    pub(super) fn is_removing(&self) -> bool {
        self.node().is_some_and(|node| {
            let engine = node.engine();
            let mut shards = node.shards().into_iter();
            shards.any(|shard| engine.group(shard).is_none())
        })
    }

    /// The node, when it is open.
    pub(super) fn node(&self) -> Option<Arc<FrontierNode>> {
        self.life
            .as_ref()
            .and_then(|life| life.node.lock().unwrap().clone())
    }

    fn dir_of(&self, life: u64) -> PathBuf {
        self.root.join(format!("node-{}-life-{life}", self.id))
    }

    /// Starts the process on what its last life left.
    pub(super) fn start(&mut self, now_ms: u64, world: &World) {
        let (plan, net, trace) = (&world.plan, &world.net, &world.trace);
        let seed = Rng::new(plan.seed, 1_000 * self.id + self.lives).next();
        let dir = self.dir_of(self.lives);
        std::fs::create_dir_all(&dir).unwrap();
        Self::found(plan, self.id, &dir);
        let runtime = virtual_runtime(seed);
        let origin = runtime.block_on(async { tokio::time::Instant::now() });
        let disk = Arc::new(Disk::new(&dir, plan.sync_ms, Rng::new(seed, 1)));
        let true_start_ms = Arc::new(AtomicU64::new(now_ms));
        let clocks = Arc::new(NodeClocks {
            origin,
            ppm: plan.node_ppm[self.id as usize - 1],
            true_start_ms: Arc::clone(&true_start_ms),
            wall_offset_ms: Arc::clone(&self.wall_offset_ms),
        });
        let options = NodeOptions {
            views: self.views(world, seed),
            ..self.options(plan, net, &dir, clocks, Arc::clone(&disk))
        };
        let node = Arc::new(Mutex::new(None));
        let (there, trace, id) = (Arc::clone(&node), Arc::clone(trace), self.id);
        runtime.spawn(async move {
            match FrontierNode::open(options).await {
                Ok(opened) => *there.lock().unwrap() = Some(Arc::new(opened)),
                Err(error) => trace.violation(format!("node {id} does not open: {error}")),
            }
        });
        self.life = Some(Life {
            runtime,
            origin,
            disk,
            true_start_ms,
            node,
            dir,
        });
    }

    /// Many founders share the shards: a new directory says so before the node opens it.
    fn found(plan: &Plan, id: u64, dir: &Path) {
        if plan.founders <= FOUNDERS || Descriptor::read(dir).unwrap().is_some() {
            return;
        }
        let (suffixes, key) = (SuffixList::shipped(), Some(FingerprintKey::ZERO));
        let founders = (1..=plan.founders).map(|node| node as u32).collect();
        let founded = Descriptor::found(id, founders, plan.shards, &suffixes, key).unwrap();
        let founded = Descriptor {
            admitted: true,
            ..founded.wanting(FOUNDERS as u32)
        };
        founded.write(dir).unwrap();
    }

    /// What the node hears of the map, where replicas move: at first what it may have heard long ago.
    fn views(&self, world: &World, seed: u64) -> Option<watch::Receiver<MapView>> {
        world.plan.is_mapped().then(|| {
            let number = Rng::new(seed, 2).next();
            let first = world.zero.earlier(number);
            world.copies.start(self.id, first)
        })
    }

    fn options(
        &self,
        plan: &Plan,
        net: &Arc<Net>,
        dir: &Path,
        clocks: Arc<NodeClocks>,
        disk: Arc<Disk>,
    ) -> NodeOptions {
        let peer = |to| Peer {
            address: address(to),
            frontier: Arc::new(RemoteFrontier {
                net: Arc::clone(net),
                from: self.id,
                to,
                may_repeat: true,
            }),
        };
        let entry = |node: u64| NodeEntry {
            node: node as u32,
            incarnation: 0,
            address: address(node),
            has_store: true,
        };
        let monotonic = Arc::clone(&clocks);
        let (heartbeat_ms, election_min_ms, election_max_ms) = plan.raft_ms;
        let engine = EngineOptions {
            timing: RaftTiming {
                heartbeat_ms,
                election_min_ms,
                election_max_ms,
            },
            flush_size_bytes: 64 * 1024,
            flush_interval_ms: plan.flush_interval_ms,
            log_keep_entries: plan.log_keep_entries,
            memtable_size_bytes: 16 * 1024 * 1024,
            block_cache_size_bytes: 1024 * 1024,
            log_cache_size_bytes: 256 * 1024,
            background_threads: 1,
            min_free_bytes: 0,
            faults: Some(Arc::new(Switch(plan.bug))),
            monotonic: Arc::new(move || monotonic.monotonic()),
            threads: Threads::Inline(disk),
            ..EngineOptions::new(dir, self.id)
        };
        NodeOptions {
            node_id: self.id,
            expected_urls: 1_000,
            suffixes: SuffixList::shipped(),
            fingerprint_key: Some(FingerprintKey::ZERO),
            voters: (1..=plan.founders).collect(),
            transport: Arc::new(SimTransport {
                net: Arc::clone(net),
                from: self.id,
            }),
            book: Arc::new(AddressBook::in_memory((1..=plan.nodes).map(entry))),
            peers: (1..=plan.nodes)
                .filter(|to| *to != self.id)
                .map(peer)
                .collect(),
            clocks,
            engine,
            ..NodeOptions::new(dir, plan.shards)
        }
    }

    /// The power goes: every task ends where it stands, and the disk keeps what it must, and maybe more.
    pub(super) fn lose_power(&mut self, loss: Loss, net: &Net) {
        let Some(life) = self.life.take() else { return };
        let node = life.node.lock().unwrap().take();
        if loss.state_is_flushed
            && let Some(node) = &node
        {
            flush_unnoticed(&node.engine()).unwrap();
        }
        self.lives += 1;
        let next = self.dir_of(self.lives);
        std::fs::create_dir_all(&next).unwrap();
        for entry in std::fs::read_dir(&life.dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), next.join(entry.file_name())).unwrap();
            }
        }
        if life.dir.join("state").exists() {
            let synced = life.disk.synced();
            copy_after_power_loss(&life.dir, &next, &synced, loss.log_kept_permille).unwrap();
        }
        net.set_silent(Some(self.id));
        let context = life.runtime.enter();
        drop(node);
        drop(context);
        drop(life.runtime);
        net.set_silent(None);
        let _partly = std::fs::remove_dir_all(&life.dir);
        self.stopped = None;
        self.held.clear();
    }

    /// Stops the process, as SIGSTOP does, or a sleeping machine.
    pub(super) fn stop(&mut self, clock_stands: bool) {
        if self.is_up() && self.stopped.is_none() {
            self.stopped = Some(Stopped { clock_stands });
        }
    }

    /// Lets it go on.
    pub(super) fn resume(&mut self, now_ms: u64) {
        let (Some(stopped), Some(life)) = (self.stopped.take(), &self.life) else {
            return;
        };
        let gap = life.behind(now_ms);
        if stopped.clock_stands {
            let gap_ms = u64::try_from(gap.as_millis()).unwrap();
            life.true_start_ms.fetch_add(gap_ms, Ordering::Relaxed);
        } else {
            life.runtime
                .block_on(async { tokio::time::advance(gap).await });
        }
        for delivery in std::mem::take(&mut self.held) {
            self.deliver(delivery);
        }
    }

    /// A message has come.
    pub(super) fn deliver(&mut self, delivery: Delivery) {
        if self.stopped.is_some() {
            self.held.push(delivery);
            return;
        }
        let node = self.node();
        match &self.life {
            Some(life) => {
                let context = life.runtime.enter();
                (delivery.run)(node);
                drop(context);
            }
            None => (delivery.run)(None),
        }
    }

    /// Runs until true time.
    pub(super) fn run_until(&self, now_ms: u64) {
        if let Some(life) = self.life.as_ref().filter(|_| self.stopped.is_none()) {
            let until = life.at(now_ms);
            life.runtime
                .block_on(async { tokio::time::sleep_until(until).await });
        }
    }

    /// Makes the disk slow, or as fast as others.
    pub(super) fn set_slow_disk(&self, is_slow: bool) {
        if let Some(life) = &self.life {
            life.disk.set_slow(is_slow);
        }
    }
}

impl Life {
    /// True time on its clock.
    fn at(&self, now_ms: u64) -> tokio::time::Instant {
        let passed_ms = now_ms.saturating_sub(self.true_start_ms.load(Ordering::Relaxed));
        self.origin + Duration::from_millis(passed_ms)
    }

    /// How far its clock is behind true time.
    fn behind(&self, now_ms: u64) -> Duration {
        let here = self.runtime.block_on(async { tokio::time::Instant::now() });
        self.at(now_ms).saturating_duration_since(here)
    }
}
