//! Faults, drawn from the seed: what breaks when, and when it is mended.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::cluster::Cluster;
use super::move_schedule::MoveSchedule;
use super::net::WORLD;
use super::plan::Plan;
use super::process::Loss;
use super::rng::Rng;
use super::split_schedule::SplitSchedule;

/// A suspension of everything: two days and a bit.
const LONG_SLEEP_MS: (u64, u64) = (3_600_000, 180_000_000);

/// How often the power goes in a step of a removal, in a thousand.
const AT_REMOVAL_PERMILLE: u64 = 150;

/// Every so manyth seed cuts the power in the middle of syncs.
const SHARP_EVERY: u64 = 4;
/// How long such a cut waits for its moment, ms.
const SHARP_PATIENCE_MS: u64 = 1_500;

/// What ends a fault.
#[derive(Debug, Clone)]
enum Mend {
    Start(u64),
    Resume(u64),
    Links(Vec<(u64, u64)>),
    Fast(u64, u64),
    FastDisk(u64),
}

/// The source of faults of one run.
pub(super) struct Nemesis {
    rng: Rng,
    nodes: u64,
    pause_ms: (u64, u64),
    next_ms: u64,
    until_ms: u64,
    mends: BTreeMap<(u64, u64), Mend>,
    faults: u64,
    /// The power goes in the middle of a sync, not at any moment.
    is_sharp: bool,
    armed: Option<Armed>,
    splits: SplitSchedule,
    moves: MoveSchedule,
}

/// A power cut that waits for a sync.
#[derive(Debug, Clone)]
struct Armed {
    nodes: Vec<u64>,
    /// It waits no longer.
    until_ms: u64,
}

impl Nemesis {
    /// Faults come from a moment on and end with another.
    pub(super) fn new(plan: &Plan, (from_ms, until_ms): (u64, u64)) -> Self {
        let (seed, pause_ms) = (plan.seed, plan.fault_pause_ms);
        let mut rng = Rng::new(seed, 5);
        Self {
            next_ms: from_ms + rng.between(pause_ms),
            rng,
            splits: SplitSchedule::new(plan, (from_ms, until_ms)),
            moves: MoveSchedule::new(plan, (from_ms, until_ms)),
            nodes: plan.nodes,
            pause_ms,
            until_ms,
            mends: BTreeMap::new(),
            faults: 0,
            is_sharp: seed % SHARP_EVERY == SHARP_EVERY - 1,
            armed: None,
        }
    }

    /// Faults so far.
    pub(super) const fn faults(&self) -> u64 {
        self.faults
    }

    /// Does what is due.
    pub(super) fn act(&mut self, cluster: &mut Cluster) {
        while let Some(entry) = self.mends.first_entry() {
            if entry.key().0 > cluster.awake_ms {
                break;
            }
            let mend = entry.remove();
            cluster.trace.event(format!("mend {mend:?}"));
            mend_one(cluster, mend);
        }
        self.strike(cluster);
        self.strike_removals(cluster);
        let soon_ms = self.splits.act(cluster).into_iter();
        if let Some(soon_ms) = soon_ms.chain(self.moves.act(cluster)).min() {
            self.next_ms = self.next_ms.min(soon_ms);
        }
        if cluster.awake_ms >= self.next_ms && cluster.awake_ms < self.until_ms {
            self.faults += 1;
            self.fault(cluster);
            self.next_ms = cluster.awake_ms + self.rng.between(self.pause_ms);
        }
    }

    /// Mends everything at once.
    pub(super) fn heal(&mut self, cluster: &mut Cluster) {
        self.armed = None;
        for mend in std::mem::take(&mut self.mends).into_values() {
            mend_one(cluster, mend);
        }
        cluster.world.net.heal();
    }

    fn later(&mut self, now_ms: u64, after_ms: (u64, u64), mend: Mend) {
        let at_ms = now_ms + self.rng.between(after_ms);
        let place = self.faults * 100 + self.mends.len() as u64;
        self.mends.insert((at_ms, place), mend);
    }

    fn node(&mut self) -> u64 {
        self.rng.between((1, self.nodes))
    }

    /// The node that leads some shard, or any.
    fn leader(&mut self, cluster: &Cluster) -> u64 {
        let shard = self.splits.some_shard(cluster);
        let leader = cluster.some_leader(shard);
        let any = self.node();
        if self.rng.chance(700) {
            leader.unwrap_or(any)
        } else {
            any
        }
    }

    fn fault(&mut self, cluster: &mut Cluster) {
        match self.rng.below(100) {
            0..22 => {
                let node = self.leader(cluster);
                self.cut_power_of(cluster, vec![node]);
            }
            22..29 => self.cut_power_of(cluster, (1..=self.nodes).collect()),
            29..44 => self.stop(cluster),
            44..64 => self.cut(cluster),
            64..74 => self.slow_link(cluster),
            74..81 => self.slow_disk(cluster),
            81..85 => self.jump_wall(cluster),
            85..94 => {
                cluster.trace.event("a fetcher dies");
                let which = self.rng.next();
                cluster.replace_fetcher(which);
            }
            94..97 => self.sleep_long(cluster),
            _ => {
                let node = self.node();
                cluster.flush_unnoticed(node);
            }
        }
    }

    /// Cuts the power of some nodes, now or in the middle of a sync.
    fn cut_power_of(&mut self, cluster: &mut Cluster, nodes: Vec<u64>) {
        if self.is_sharp {
            let until_ms = cluster.awake_ms + SHARP_PATIENCE_MS;
            self.armed.get_or_insert(Armed { nodes, until_ms });
        } else {
            self.cut_all(cluster, &nodes);
        }
    }

    /// Cuts the power of all these nodes at once: what one lost the others lost too, now and then.
    fn cut_all(&mut self, cluster: &mut Cluster, nodes: &[u64]) {
        let common = self.loss();
        let is_common = self.rng.chance(500);
        for node in nodes {
            let loss = if is_common { common } else { self.loss() };
            self.cut_power(cluster, *node, loss);
        }
    }

    fn loss(&mut self) -> Loss {
        Loss {
            log_kept_permille: *self.rng.pick(&[0, 0, 300, 900, 1_000]),
            state_is_flushed: self.rng.chance(250),
        }
    }

    /// Cuts what is armed when most of it is in the middle of a sync.
    fn strike(&mut self, cluster: &mut Cluster) {
        let Some(armed) = self.armed.take() else {
            return;
        };
        let syncing = armed
            .nodes
            .iter()
            .filter(|node| cluster.process(**node).is_syncing())
            .count();
        if 2 * syncing <= armed.nodes.len() && cluster.awake_ms < armed.until_ms {
            self.armed = Some(armed);
        } else {
            self.cut_all(cluster, &armed.nodes);
        }
    }

    /// Cuts the power of a node that is removing a replica, now and then.
    fn strike_removals(&mut self, cluster: &mut Cluster) {
        if !cluster.world.plan.has_moves() {
            return;
        }
        for node in 1..=self.nodes {
            let is_removing = cluster.process(node).is_removing();
            if is_removing && self.rng.chance(AT_REMOVAL_PERMILLE) {
                self.faults += 1;
                let loss = self.loss();
                self.cut_power(cluster, node, loss);
            }
        }
    }

    fn cut_power(&mut self, cluster: &mut Cluster, node: u64, loss: Loss) {
        if !cluster.process(node).is_up() {
            return;
        }
        cluster
            .trace
            .event(format!("power cut at {node}: {loss:?}"));
        let world = std::sync::Arc::clone(&cluster.world);
        cluster.process_mut(node).lose_power(loss, &world.net);
        let after_ms = *self.rng.pick(&[(5, 200), (300, 3_000), (2_000, 9_000)]);
        self.later(cluster.awake_ms, after_ms, Mend::Start(node));
    }

    fn stop(&mut self, cluster: &mut Cluster) {
        let node = self.leader(cluster);
        let process = cluster.process_mut(node);
        if !process.is_up() || process.is_stopped() {
            return;
        }
        let clock_stands = self.rng.chance(300);
        process.stop(clock_stands);
        cluster
            .trace
            .event(format!("stop {node}, clock stands {clock_stands}"));
        let after_ms = *self.rng.pick(&[(20, 300), (500, 4_000), (3_000, 12_000)]);
        self.later(cluster.awake_ms, after_ms, Mend::Resume(node));
    }

    /// Cuts one node off from the others, or from some, in both directions or one, and maybe from the clients.
    fn cut(&mut self, cluster: &mut Cluster) {
        let node = self.leader(cluster);
        let (incoming, outgoing) =
            *self
                .rng
                .pick(&[(true, true), (true, true), (true, false), (false, true)]);
        let spared = self.rng.between((0, 2 * self.nodes));
        let mut links = Vec::new();
        for other in (1..=self.nodes).filter(|other| *other != node && *other != spared) {
            if incoming {
                links.push((other, node));
            }
            if outgoing {
                links.push((node, other));
            }
        }
        if self.rng.chance(250) {
            links.extend([(WORLD, node), (node, WORLD)]);
        }
        cluster.trace.event(format!("cut {links:?}"));
        for (from, to) in &links {
            cluster.world.net.set_cut(*from, *to, true);
        }
        let after_ms = *self
            .rng
            .pick(&[(100, 800), (1_000, 5_000), (4_000, 15_000)]);
        self.later(cluster.awake_ms, after_ms, Mend::Links(links));
    }

    fn slow_link(&mut self, cluster: &mut Cluster) {
        let (mut from, mut to) = (self.rng.between((0, self.nodes)), self.leader(cluster));
        if self.rng.chance(500) {
            std::mem::swap(&mut from, &mut to);
        }
        let delay_ms = *self.rng.pick(&[(20, 200), (100, 1_500), (1_000, 6_000)]);
        cluster
            .trace
            .event(format!("slow {from} to {to}: {delay_ms:?}"));
        cluster.world.net.set_slow(from, to, Some(delay_ms));
        self.later(cluster.awake_ms, (1_000, 10_000), Mend::Fast(from, to));
    }

    fn slow_disk(&mut self, cluster: &mut Cluster) {
        let node = self.node();
        cluster.trace.event(format!("slow disk at {node}"));
        cluster.process(node).set_slow_disk(true);
        self.later(cluster.awake_ms, (500, 6_000), Mend::FastDisk(node));
    }

    fn jump_wall(&mut self, cluster: &mut Cluster) {
        let node = self.node();
        let by_ms = *self
            .rng
            .pick(&[-86_400_000, -5_000, 3_000, 3_600_000, 40 * 86_400_000]);
        cluster
            .trace
            .event(format!("wall clock of {node} off by {by_ms}"));
        cluster
            .process(node)
            .wall_offset_ms
            .store(by_ms, Ordering::Relaxed);
    }

    /// Everything sleeps for long. Some wake later than others.
    fn sleep_long(&mut self, cluster: &mut Cluster) {
        let ms = self.rng.between(LONG_SLEEP_MS);
        let clock_stands = self.rng.chance(300);
        cluster
            .trace
            .event(format!("all sleep {ms} ms, clocks stand {clock_stands}"));
        cluster.sleep_all(ms, clock_stands);
        let late = self.leader(cluster);
        for node in 1..=self.nodes {
            if node == late && self.rng.chance(600) {
                self.later(cluster.awake_ms, (500, 6_000), Mend::Resume(node));
            } else {
                let now_ms = cluster.now_ms;
                cluster.process_mut(node).resume(now_ms);
            }
        }
    }
}

fn mend_one(cluster: &mut Cluster, mend: Mend) {
    match mend {
        Mend::Start(node) => cluster.start(node),
        Mend::Resume(node) => {
            let now_ms = cluster.now_ms;
            cluster.process_mut(node).resume(now_ms);
        }
        Mend::Links(links) => links
            .into_iter()
            .for_each(|(from, to)| cluster.world.net.set_cut(from, to, false)),
        Mend::Fast(from, to) => cluster.world.net.set_slow(from, to, None),
        Mend::FastDisk(node) => cluster.process(node).set_slow_disk(false),
    }
}
