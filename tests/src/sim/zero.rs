//! What group 0 would hold: the shard map as its own state machine keeps it, with every version that there was.
//!
//! Group 0 itself does not run here (`splits`). Its commands are applied at once, by whoever drives the map's jobs outside of all
//! nodes (`moves`, `driver`); nodes get copies over the network, late and out of order (`copies`).

use std::sync::{Arc, Mutex};

use shard_map::command::{Found, Join, StepDone};
use shard_map::{Body, Identity, Job, Node, Refusal, ShardMap, Step};

use super::plan::Plan;
use super::process::address;
use super::trace::Trace;

/// The cluster that all nodes belong to.
const CLUSTER: u64 = 7;

/// See the head of this file.
pub(super) struct Zero {
    trace: Arc<Trace>,
    /// By version, from the founding on.
    versions: Mutex<Vec<Arc<ShardMap>>>,
}

impl Zero {
    /// Founded by the plan's founders.
    pub(super) fn found(plan: &Plan, trace: Arc<Trace>) -> Self {
        let zero = Self {
            trace,
            versions: Mutex::new(vec![Arc::default()]),
        };
        let found = Found {
            cluster_id: CLUSTER,
            identity: Identity::default(),
            replica_target: 3,
            shards: plan.shards,
            nodes: (1..=plan.founders).map(node).collect(),
        };
        if let Err(refusal) = zero.apply(Body::Found(found)) {
            zero.trace.violation(format!("no map: {refusal}"));
        }
        zero
    }

    /// The newest version.
    pub(super) fn map(&self) -> Arc<ShardMap> {
        Arc::clone(self.versions.lock().unwrap().last().unwrap())
    }

    /// Some version there was, by a number.
    pub(super) fn earlier(&self, number: u64) -> Arc<ShardMap> {
        let versions = self.versions.lock().unwrap();
        Arc::clone(&versions[number as usize % versions.len()])
    }

    /// Changes the map, or refuses; the job that was begun or is about.
    pub(super) fn apply(&self, body: Body) -> Result<Option<u64>, Refusal> {
        let mut versions = self.versions.lock().unwrap();
        let mut next = (**versions.last().unwrap()).clone();
        let job = shard_map::apply(&mut next, &body.into())?.job;
        if next.version > versions.last().unwrap().version {
            versions.push(Arc::new(next));
        }
        Ok(job)
    }

    /// The same where a refusal only means that it comes too late.
    pub(super) fn propose(&self, body: Body) -> Option<u64> {
        let text = format!("{body:?}");
        match self.apply(body) {
            Ok(job) => {
                self.trace.event(format!("map: {text}"));
                job
            }
            Err(refusal) => {
                self.trace.event(format!("map refuses {text}: {refusal}"));
                None
            }
        }
    }

    /// A node joins.
    pub(super) fn join(&self, number: u64) {
        self.propose(Body::Join(Join {
            cluster_id: CLUSTER,
            identity: Identity::default(),
            node: node(number),
        }));
    }

    /// A job's step is done.
    pub(super) fn step_done(&self, job: u64, expects: Step, created: Vec<u64>) {
        self.propose(Body::StepDone(StepDone {
            job,
            expects: expects.into(),
            created,
        }));
    }

    /// A job that has not ended.
    pub(super) fn running(&self, job: u64) -> Option<Job> {
        let map = self.map();
        map.job(job).filter(|job| job.is_running()).cloned()
    }

    /// Jobs that were carried out: of those that are remembered.
    pub(super) fn done(&self, of: impl Fn(&shard_map::Plan) -> bool) -> u64 {
        let map = self.map();
        let jobs = map.jobs.iter().filter(|job| job.step() == Step::Done);
        jobs.filter(|job| job.plan.as_ref().is_some_and(&of))
            .count() as u64
    }
}

fn node(number: u64) -> Node {
    Node {
        number: u32::try_from(number).unwrap(),
        address: address(number),
        holds_shards: true,
        ..Node::default()
    }
}
