//! What the leader of group 0 does unasked: founds the map, enters what nodes have become, takes the next step of each job,
//! begins the moves, splits and hand-overs that are due.
//!
//! Waits for changes of leadership and map; looks at the address book, and at what its survey has found, now and then while
//! it leads. Where it does not lead it costs nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use raftlog::{Leadership, LeadershipToken};
use shard_map::{Body, Job, Plan, ShardMap, command::Join, policy::Transfer};
use tokio::sync::watch;

use super::balance::Balance;
use super::map_cell::MapView;
use super::map_group::{MapError, MapGroup};
use super::map_node::MapNode;
use super::move_job::Context;
use super::moves::{self, Situation};
use super::survey::{Survey, Surveyor};
use super::{auto_split, founding, move_job, silence, split_job, strays};
use crate::limits::{
    DRIVEN_JOBS, JOB_PAUSE_MS, SURVEY_INTERVAL_MS, UPKEEP_INTERVAL_MS, WEIGH_INTERVAL_MS,
};

/// The task.
pub(super) struct Upkeep {
    node: Arc<MapNode>,
    zero: Arc<MapGroup>,
    leadership: watch::Receiver<Leadership>,
    views: watch::Receiver<MapView>,
    survey: watch::Receiver<Arc<Survey>>,
    surveyor: Option<Surveyor>,
    /// Before jobs that did not go on are looked at again.
    pause_ms: u64,
    /// The last job of the last round.
    driven: u64,
    /// Since when each running job has been at its step, as far as this task knows.
    at_step: BTreeMap<u64, (i32, Instant)>,
    balance: Balance,
    /// When the leadership was last looked at as a whole, and shards were last weighed.
    looked: Option<Instant>,
    weighed: Option<Instant>,
}

impl Upkeep {
    pub(super) fn new(node: Arc<MapNode>, zero: Arc<MapGroup>) -> Self {
        let (found, survey) = watch::channel(Arc::default());
        let leadership = zero.group().leadership();
        let surveyor = Surveyor {
            leadership: leadership.clone(),
            views: node.views(),
            shaper: node.shared_shaper(),
            found,
        };
        Self {
            leadership,
            zero,
            views: node.views(),
            survey,
            surveyor: Some(surveyor),
            pause_ms: JOB_PAUSE_MS.0,
            driven: 0,
            at_step: BTreeMap::new(),
            balance: Balance::default(),
            looked: None,
            weighed: None,
            node,
        }
    }

    /// Runs until group 0 is closed.
    pub(super) async fn run(mut self) {
        let Some(surveyor) = self.surveyor.take() else {
            return;
        };
        tokio::join!(self.rounds(), surveyor.run());
    }

    async fn rounds(mut self) {
        loop {
            let token = self.leadership.borrow_and_update().token();
            let pause = match token {
                Some(token) => Some(self.round(token).await),
                None => {
                    self.at_step.clear();
                    self.node.set_leading(BTreeMap::new());
                    None
                }
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
        self.note_steps(&map);
        let survey = Arc::clone(&self.survey.borrow());
        let survey = Some(survey).filter(|survey| survey.is_of(token.term()));
        let known = survey.clone().unwrap_or_default();
        let has_steps = self.drive_jobs(token, &map, &known).await;
        // What is proposed unasked follows from how all nodes stand.
        if let Some(survey) = survey {
            self.begin_moves(token, &map, &survey).await;
            if is_due(&mut self.looked, SURVEY_INTERVAL_MS) {
                self.look_around(token, &map, &survey).await;
            }
        }
        if has_steps {
            self.pause_ms
        } else {
            SURVEY_INTERVAL_MS
        }
    }

    /// Takes a step of some of the jobs; whether there are jobs that have steps.
    async fn drive_jobs(
        &mut self,
        token: LeadershipToken,
        map: &ShardMap,
        survey: &Survey,
    ) -> bool {
        let has_steps = |job: &&Job| job.evacuates().is_none();
        let mut jobs: Vec<&Job> = map.running_jobs().filter(has_steps).collect();
        // In turn: jobs that cannot go on must not keep others from it.
        jobs.sort_by_key(|job| (job.id <= self.driven, job.id));
        jobs.truncate(DRIVEN_JOBS);
        self.driven = jobs.last().map_or(0, |job| job.id);
        let steps = jobs.iter().map(|job| self.drive(token, map, survey, job));
        let went_on = join_all(steps).await.contains(&true);
        self.pause_ms = if went_on {
            JOB_PAUSE_MS.0
        } else {
            (self.pause_ms * 2).min(JOB_PAUSE_MS.1)
        };
        !jobs.is_empty()
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

    /// Notes since when jobs have been where they are.
    fn note_steps(&mut self, map: &ShardMap) {
        let now = Instant::now();
        let before = std::mem::take(&mut self.at_step);
        let since = |job: &Job| match before.get(&job.id) {
            Some((step, since)) if *step == job.step => *since,
            _ => now,
        };
        let jobs = map.running_jobs();
        self.at_step = jobs.map(|job| (job.id, (job.step, since(job)))).collect();
    }

    fn waited_ms(&self, job: &Job) -> u64 {
        let since = self.at_step.get(&job.id).map(|(_, since)| since.elapsed());
        since.map_or(0, |waited| {
            u64::try_from(waited.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// Takes a job's next step; whether it went on.
    async fn drive(
        &self,
        token: LeadershipToken,
        map: &ShardMap,
        survey: &Survey,
        job: &Job,
    ) -> bool {
        let shaper = self.node.shaper();
        let body = match &job.plan {
            Some(Plan::Split(plan)) => split_job::next(map, job, plan, shaper).await,
            Some(Plan::Move(plan)) => {
                let context = Context {
                    map,
                    shaper,
                    survey,
                    patience_ms: self.node.rules().move_patience_ms,
                    waited_ms: self.waited_ms(job),
                };
                move_job::next(&context, job, plan).await
            }
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

    /// Repairs, the way out of nodes that are emptied, the shares of nodes that have less.
    async fn begin_moves(&self, token: LeadershipToken, map: &ShardMap, survey: &Survey) {
        let rules = self.node.rules();
        let has_steps = |job: &&Job| job.evacuates().is_none();
        let mut jobs = map.running_jobs().filter(has_steps);
        let wanted = moves::wanted(&Situation {
            map,
            leading: survey.leading(),
            down: survey.down(),
            is_stuck: jobs.any(|job| self.waited_ms(job) >= rules.stuck_after_ms),
            at_once: rules.moves_at_once,
        });
        for moved in wanted {
            self.begin(token, Body::MoveReplica(moved)).await;
        }
    }

    /// What follows from how all nodes stand and need not be at once.
    async fn look_around(&mut self, token: LeadershipToken, map: &ShardMap, survey: &Survey) {
        let (shaper, rules) = (self.node.shaper(), self.node.rules());
        let now = Instant::now();
        self.node.set_leading(survey.leading());
        let balance = self.balance.wanted(map, survey, rules, now);
        join_all(balance.iter().map(|transfer| self.hand_over(map, transfer))).await;
        for order in strays::strays(map, survey) {
            if let Err(error) = shaper.change_members(&order).await {
                tracing::debug!(?order, %error, "a learner without a move stays");
            }
        }
        if let Some(replace) = silence::replacement(map, survey, rules.replace_after_ms) {
            tracing::warn!(
                node = replace.node,
                "silent for so long that it is replaced"
            );
            self.begin(token, Body::Replace(replace)).await;
        }
        if rules.split.enabled && is_due(&mut self.weighed, WEIGH_INTERVAL_MS) {
            for split in auto_split::wanted(map, survey, &rules.split, shaper).await {
                self.begin(token, Body::SplitShard(split)).await;
            }
        }
    }

    async fn hand_over(&self, map: &ShardMap, transfer: &Transfer) {
        let Transfer { shard, from, to } = *transfer;
        let Some(voter) = map.members(shard).and_then(|m| m.voter_on(to)) else {
            return;
        };
        match self.node.shaper().hand_over(shard, voter.0).await {
            Ok(()) => tracing::info!(shard, from, to, "a leadership is handed over"),
            Err(error) => tracing::debug!(shard, from, to, %error, "not handed over"),
        }
    }

    /// Begins a job that nobody asked for.
    async fn begin(&self, token: LeadershipToken, body: Body) {
        match self.propose(token, body.clone()).await {
            Ok(()) => tracing::info!(job = ?body, "a job has begun by itself"),
            Err(error) => tracing::debug!(job = ?body, %error, "a job did not begin"),
        }
    }

    async fn propose(&self, token: LeadershipToken, body: Body) -> Result<(), MapError> {
        let proposed = self.zero.propose(token, &body.into()).await;
        proposed.map(|_| ())
    }
}

/// Whether so much has passed since it was done last; notes that it is done now.
fn is_due(last: &mut Option<Instant>, interval_ms: u64) -> bool {
    let interval = Duration::from_millis(interval_ms);
    let is_due = last.is_none_or(|last| last.elapsed() >= interval);
    if is_due {
        *last = Some(Instant::now());
    }
    is_due
}

async fn sleep(pause_ms: Option<u64>) {
    match pause_ms {
        Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
        None => std::future::pending().await,
    }
}
