//! What group 0 would know of splits: the map, numbers of children, and which shards are being split.
//!
//! Group 0 itself does not run here: its calls of other nodes go through a client of gRPC over sockets (`cluster::Greeter`),
//! which virtual time does not move, and a change of the map is asked for through `admin.v1` on such sockets. What it
//! promises to shards is kept instead by a driver outside of all nodes (`driver`).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use frontier_node::SplitRequest;
use shard_map::command::SplitShard;
use shard_map::{Body, Plan as JobPlan, Step};

use super::plan::{FOUNDERS, Plan};
use super::shard_map::ShardMap;
use super::zero::Zero;

/// Where a shard is to be split.
#[derive(Debug, Clone, Copy)]
pub(super) enum Aim {
    /// At some hash of its range, given as a random number.
    Anywhere(u64),
    /// Before a site, if the shard has it and something is left below.
    Before(u64),
    /// So that a site is the first of the child, by what the leader has in memory.
    Around(u64),
    /// At the middle of its load.
    Middle,
}

/// A split that is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    /// Decides which shard.
    pub(super) shard: u64,
    pub(super) aim: Aim,
}

/// What group 0 would know.
pub(super) struct Splits {
    state: Mutex<State>,
    /// Where replicas move, the map says who a child's voters are, and splits are jobs of it.
    zero: Option<Arc<Zero>>,
}

struct State {
    map: ShardMap,
    next_child: u64,
    /// Shards of which a split is under way.
    busy: BTreeSet<u64>,
    /// Drivers that have not come to their end.
    driven: u64,
    done: u64,
}

impl Splits {
    pub(super) fn new(plan: &Plan, zero: &Arc<Zero>) -> Self {
        let shards = plan.shards;
        Self {
            zero: plan.has_moves().then(|| Arc::clone(zero)),
            state: Mutex::new(State {
                map: ShardMap::founding(shards),
                next_child: shards + 1,
                busy: BTreeSet::new(),
                driven: 0,
                done: 0,
            }),
        }
    }

    /// The map after all splits that are done.
    pub(super) fn map(&self) -> ShardMap {
        if let Some(zero) = &self.zero {
            return ShardMap::of_zero(&zero.map());
        }
        self.state.lock().unwrap().map.clone()
    }

    /// Nothing is under way.
    pub(super) fn are_settled(&self) -> bool {
        self.state.lock().unwrap().driven == 0
    }

    /// Whether a shard is being split, or about to be.
    pub(super) fn is_busy(&self, shard: u64) -> bool {
        self.state.lock().unwrap().busy.contains(&shard)
    }

    /// How many were done.
    pub(super) fn done(&self) -> u64 {
        self.state.lock().unwrap().done
    }

    /// Takes a shard that nobody splits now; the order so far, at its upper end.
    pub(super) fn begin(&self, number: u64) -> Option<SplitRequest> {
        let map = self.map();
        let zero = self.zero.as_ref().map(|zero| zero.map());
        let moves = |shard: u64| {
            zero.as_ref()
                .is_some_and(|map| map.job_of_shard(shard).is_some())
        };
        let mut state = self.state.lock().unwrap();
        let free: Vec<u64> = map
            .shards()
            .into_iter()
            .filter(|shard| !state.busy.contains(shard) && !moves(*shard))
            .collect();
        let shard = *free.get(number as usize % free.len().max(1))?;
        let place = map.place(shard);
        if place.first == place.last {
            return None;
        }
        state.busy.insert(shard);
        let child = state.next_child;
        state.next_child += 1;
        Some(SplitRequest {
            shard,
            epoch: place.epoch,
            at: place.last,
            child,
            voters: (1..=FOUNDERS).collect(),
        })
    }

    /// Enters the job of an order in the map, which says who the voters are; its number.
    pub(super) fn enter(&self, order: &mut SplitRequest) -> Option<u64> {
        let zero = self.zero.as_ref()?;
        let job = zero.propose(Body::SplitShard(SplitShard {
            shard: order.shard,
            epoch: order.epoch,
            at: order.at,
            alone: false,
        }))?;
        if let Some(JobPlan::Split(plan)) = zero.running(job)?.plan {
            order.child = plan.child;
            order.voters = plan.voters.into_iter().collect();
        }
        zero.step_done(job, Step::Planned, Vec::new());
        self.state.lock().unwrap().busy.insert(order.child);
        Some(job)
    }

    /// The parent has applied it.
    pub(super) fn split(&self, order: &SplitRequest) {
        let mut state = self.state.lock().unwrap();
        state.map.split(order.shard, order.child, order.at);
        state.busy.insert(order.child);
        state.done += 1;
    }

    /// The child is led: the map learns of it.
    pub(super) fn led(&self, job: Option<u64>, order: &SplitRequest) {
        let (Some(zero), Some(job)) = (&self.zero, job) else {
            return;
        };
        let created: Vec<u64> = order.voters.iter().copied().collect();
        zero.step_done(job, Step::ParentTold, Vec::new());
        zero.step_done(job, Step::ParentApplied, created);
        zero.step_done(job, Step::ChildCreated, Vec::new());
        zero.step_done(job, Step::MapChanged, Vec::new());
    }

    pub(super) fn end(&self, order: &SplitRequest) {
        let mut state = self.state.lock().unwrap();
        state.busy.remove(&order.shard);
        state.busy.remove(&order.child);
    }

    pub(super) fn count(&self, is_begun: bool) {
        let mut state = self.state.lock().unwrap();
        state.driven = if is_begun {
            state.driven + 1
        } else {
            state.driven - 1
        };
    }
}
