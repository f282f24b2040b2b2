//! Splits through `admin.v1`: begun, and watched to their end.

use super::limits::{JOB_LOOK_EVERY, JOB_WITHIN};
use super::rig::Rig;
use crate::ctl::draw;
use crate::output::CommandError;
use crate::patience::Patience;
use client::{Admin, AdminError};
use pb::change_response::End;
use proto::admin_v1 as pb;
use std::time::{Duration, Instant};

/// Asks a cluster for splits.
pub struct Splitter {
    admin: Admin,
}

/// A split that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// Its job.
    pub job: u64,
    /// The shard that it makes.
    pub child: u64,
}

impl Splitter {
    /// Of the cluster of a rig.
    pub fn new(rig: &Rig) -> Result<Self, CommandError> {
        let nodes = rig.control.nodes().values();
        let addresses: Vec<String> = nodes.map(|node| node.address().to_owned()).collect();
        Self::at(&addresses)
    }

    /// Of the cluster whose nodes are at these addresses.
    pub fn at(addresses: &[String]) -> Result<Self, CommandError> {
        let admin = Admin::new(addresses);
        let admin = admin.map_err(|e| CommandError::of("an address of a node", e))?;
        Ok(Self { admin })
    }

    /// Asks for a split at the middle of the load, again and again under the same number until it is answered; why it does not
    /// begin, else.
    pub async fn begin(&self, shard: u64) -> Result<Begun, String> {
        let request = pb::SplitRequest {
            request: draw(),
            shard,
            epoch: 0,
            point: Some(pb::split_request::Point::Middle(true)),
        };
        let until = Instant::now() + JOB_WITHIN;
        let job = self.job_of(request).await?;
        while Instant::now() < until {
            // A copy that is behind does not know it yet.
            if let Some(found) = self.job(job).await {
                let child = found.child;
                return Ok(Begun { job, child });
            }
            tokio::time::sleep(JOB_LOOK_EVERY).await;
        }
        Err(format!("nobody knows job {job}"))
    }

    async fn job_of(&self, request: pb::SplitRequest) -> Result<u64, String> {
        let mut patience = Patience::quiet(JOB_WITHIN);
        let answer = patience.until(async || self.admin.split(request.clone()).await);
        match answer.await.map_err(|error| error.to_string())?.end {
            Some(End::Accepted(accepted)) => Ok(accepted.job),
            Some(End::Refused(reason)) => Err(format!("refused: {reason}")),
            None => Err("the answer makes no sense".to_owned()),
        }
    }

    /// The job, as the node that answers knows it; none if it does not know it yet, or nobody answers.
    pub async fn job(&self, job: u64) -> Option<pb::Job> {
        let jobs = self.admin.jobs(job).await.ok()?.jobs;
        jobs.into_iter().find(|found| found.job == job)
    }

    /// The job once it has ended; none if it has not in this time.
    pub async fn ended(&self, job: u64, within: Duration) -> Option<pb::Job> {
        let until = Instant::now() + within;
        while Instant::now() < until {
            let found = self.job(job).await;
            if let Some(ended) = found.filter(|job| job.state() != pb::JobState::Running) {
                return Some(ended);
            }
            tokio::time::sleep(JOB_LOOK_EVERY).await;
        }
        None
    }

    /// The node that leads group 0.
    pub async fn leader_of_group_0(&self) -> Result<u32, CommandError> {
        let nobody = || AdminError::Unavailable("nobody says who leads group 0".to_owned());
        let attempt = async || {
            let status = self.admin.status().await?;
            let leader = status.copy.map(|copy| copy.leader);
            leader.filter(|leader| *leader != 0).ok_or_else(nobody)
        };
        let leader = Patience::quiet(JOB_WITHIN).until(attempt).await;
        leader.map_err(|error| CommandError::Message(error.to_string()))
    }

    /// Number, first and last hash of every shard, as group 0 has them.
    pub async fn ranges(&self) -> Result<Vec<(u64, u64, u64)>, CommandError> {
        let mut patience = Patience::quiet(JOB_WITHIN);
        let answer = patience.until(async || self.admin.shards().await).await;
        let answer = answer.map_err(|error| CommandError::of("nobody tells the map", error))?;
        let shards = answer.shards.iter().filter(|shard| shard.shard != 0);
        Ok(shards.map(|s| (s.shard, s.first, s.last)).collect())
    }
}

/// How a split's job ended, if it did.
pub fn words(number: u64, ended: Option<&pb::Job>) -> String {
    match ended {
        Some(job) if job.state() == pb::JobState::Done => {
            format!("job {number} done, child {},", job.child)
        }
        _ => end(number, ended),
    }
}

/// How a job ended, if it did.
pub fn end(number: u64, ended: Option<&pb::Job>) -> String {
    match ended {
        None => format!("job {number} is not over"),
        Some(job) if job.state() == pb::JobState::Undone => {
            format!("job {number} undone ({})", job.reason)
        }
        Some(_) => format!("job {number} done"),
    }
}
