//! What the leader of group 0 does unasked: founds the map, enters what nodes have become, takes the next step of each job.
//!
//! Waits for changes of leadership and map; looks at the address book now and then while it leads. Where it does not
//! lead it costs nothing.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use raftlog::{Leadership, LeadershipToken};
use shard_map::{Body, Job, Plan, ShardMap, command::Join};
use tokio::sync::watch;

use super::map_cell::MapView;
use super::map_group::{MapError, MapGroup};
use super::map_node::MapNode;
use super::{founding, new_disk, split_job};
use crate::limits::{DRIVEN_JOBS, JOB_PAUSE_MS, UPKEEP_INTERVAL_MS};

/// The task.
pub(super) struct Upkeep {
    node: Arc<MapNode>,
    zero: Arc<MapGroup>,
    leadership: watch::Receiver<Leadership>,
    views: watch::Receiver<MapView>,
    /// Before jobs that did not go on are looked at again.
    pause_ms: u64,
    /// The last job of the last round.
    driven: u64,
}

impl Upkeep {
    pub(super) fn new(node: Arc<MapNode>, zero: Arc<MapGroup>) -> Self {
        Self {
            leadership: zero.group().leadership(),
            zero,
            views: node.views(),
            pause_ms: JOB_PAUSE_MS.0,
            driven: 0,
            node,
        }
    }

    /// Runs until group 0 is closed.
    pub(super) async fn run(mut self) {
        loop {
            let token = self.leadership.borrow_and_update().token();
            let pause = match token {
                Some(token) => Some(self.round(token).await),
                None => None,
            };
            tokio::select! {
                changed = self.leadership.changed() => if changed.is_err() { return },
                changed = self.views.changed() => if changed.is_err() { return },
                () = sleep(pause) => {}
            }
        }
    }

    /// One look at everything under one leadership; how long nothing is to be done unasked, ms.
    async fn round(&mut self, token: LeadershipToken) -> u64 {
        let map = self.views.borrow_and_update().map.clone();
        if !map.is_founded() {
            self.found(token).await;
            return UPKEEP_INTERVAL_MS;
        }
        self.enter_nodes(token, &map).await;
        self.enter_new_disks(token, &map).await;
        let mut jobs: Vec<&Job> = map.running_jobs().collect();
        // In turn: jobs that cannot go on must not keep others from it.
        jobs.sort_by_key(|job| (job.id <= self.driven, job.id));
        jobs.truncate(DRIVEN_JOBS);
        self.driven = jobs.last().map_or(0, |job| job.id);
        let steps = jobs.iter().map(|job| self.drive(token, &map, job));
        let went_on = join_all(steps).await.contains(&true);
        self.pause_ms = if went_on {
            JOB_PAUSE_MS.0
        } else {
            (self.pause_ms * 2).min(JOB_PAUSE_MS.1)
        };
        if jobs.is_empty() {
            UPKEEP_INTERVAL_MS
        } else {
            self.pause_ms
        }
    }

    async fn found(&self, token: LeadershipToken) {
        let entries = self.node.book().entries();
        let founded = match founding::found(self.node.descriptor(), &entries) {
            Ok(found) => self.propose(token, Body::Found(found)).await,
            Err(error) => Err(MapError::Refused(error.to_string())),
        };
        match founded {
            Ok(()) => {
                tracing::info!(
                    shards = self.node.descriptor().shards.len(),
                    "the shard map is founded"
                );
            }
            Err(error) => {
                if self.node.set_not_founded(&error.to_string()) {
                    tracing::warn!(%error, "the shard map is not founded");
                }
            }
        }
    }

    /// Nodes that are at another address or on another disk than the map says.
    async fn enter_nodes(&self, token: LeadershipToken, map: &ShardMap) {
        for entry in self.node.book().entries() {
            let Some(known) = map.node(entry.node) else {
                continue;
            };
            let now = founding::node(&entry, Some(known));
            if now == *known || now.address.is_empty() || now.incarnation < known.incarnation {
                continue;
            }
            let join = Join {
                cluster_id: map.cluster_id,
                identity: founding::identity(self.node.descriptor()),
                node: now,
            };
            match self.propose(token, Body::Join(join)).await {
                Ok(()) => tracing::info!(node = entry.node, "the map knows where it is now"),
                Err(error) => {
                    tracing::debug!(node = entry.node, %error, "not entered in the map");
                }
            }
        }
    }

    async fn enter_new_disks(&self, token: LeadershipToken, map: &ShardMap) {
        for (group, moved) in new_disk::outdated(map) {
            let body = new_disk::begin(map, group, moved, self.node.shaper()).await;
            if let Some(body) = body
                && let Err(error) = self.propose(token, body).await
            {
                tracing::debug!(group, %error, "a new disk is not entered in the map");
            }
        }
    }

    /// Takes a job's next step; whether it went on.
    async fn drive(&self, token: LeadershipToken, map: &ShardMap, job: &Job) -> bool {
        let shaper = self.node.shaper();
        let body = match &job.plan {
            Some(Plan::Split(plan)) => split_job::next(map, job, plan, shaper).await,
            Some(Plan::Move(plan)) => new_disk::next(job, plan, shaper).await,
            _ => None,
        };
        let Some(body) = body else { return false };
        let step = job.step().name();
        match self.propose(token, body).await {
            Ok(()) => {
                tracing::info!(job = job.id, step, "a job went on");
                true
            }
            Err(error) => {
                tracing::debug!(job = job.id, step, %error, "a job did not go on");
                false
            }
        }
    }

    async fn propose(&self, token: LeadershipToken, body: Body) -> Result<(), MapError> {
        let proposed = self.zero.propose(token, &body.into()).await;
        proposed.map(|_| ())
    }
}

async fn sleep(pause_ms: Option<u64>) {
    match pause_ms {
        Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
        None => std::future::pending().await,
    }
}
