//! Moves, drains and joins through `admin.v1`: begun, watched, and seen in the map.

use super::limits::{JOB_LOOK_EVERY, JOB_WITHIN, QUIET_JOBS_WITHIN, QUIET_LOOK_EVERY};
use super::rig::Rig;
use super::splitting::Splitter;
use crate::ctl::draw;
use crate::output::CommandError;
use crate::patience::Patience;
use client::{Admin, AdminError};
use pb::change_response::End;
use proto::admin_v1 as pb;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Asks a cluster for changes of where its replicas are.
pub struct Mover {
    admin: Admin,
    /// Its jobs, and who leads group 0.
    pub jobs: Splitter,
}

/// The nodes of each group that vote in it.
pub type Places = BTreeMap<u64, BTreeSet<u32>>;

impl Mover {
    /// Of the cluster of a rig.
    pub fn new(rig: &Rig) -> Result<Self, CommandError> {
        let nodes = rig.control.nodes().values();
        let addresses: Vec<String> = nodes.map(|node| node.address().to_owned()).collect();
        let admin = Admin::new(&addresses);
        Ok(Self {
            admin: admin.map_err(|e| CommandError::of("an address of a node", e))?,
            jobs: Splitter::at(&addresses)?,
        })
    }

    /// Begins a move of a shard's replica; the job.
    pub async fn move_replica(&self, shard: u64, from: u32, to: u32) -> Result<u64, String> {
        let request = pb::MoveRequest {
            request: draw(),
            shard,
            epoch: 0,
            from,
            to,
            // A share that is due would else undo it.
            pin: true,
        };
        self.change(async |admin| admin.move_replica(request).await)
            .await
    }

    /// Begins the drain of a node; the job.
    pub async fn drain(&self, node: u32) -> Result<u64, String> {
        let request = pb::DrainRequest {
            request: draw(),
            node,
        };
        self.change(async |admin| admin.drain(request).await).await
    }

    /// Gives a node its place back.
    pub async fn undrain(&self, node: u32) -> Result<(), String> {
        let request = pb::UndrainRequest { node };
        let done = self.change(async |admin| admin.undrain(request).await);
        done.await.map(|_| ())
    }

    /// A change, asked for again and again under the same number until it is answered.
    async fn change(
        &self,
        call: impl AsyncFn(&Admin) -> Result<pb::ChangeResponse, AdminError>,
    ) -> Result<u64, String> {
        let mut patience = Patience::quiet(JOB_WITHIN);
        let answer = patience.until(async || call(&self.admin).await);
        match answer.await.map_err(|error| error.to_string())?.end {
            Some(End::Accepted(accepted)) => Ok(accepted.job),
            Some(End::Refused(reason)) => Err(format!("refused: {reason}")),
            None => Err("the answer makes no sense".to_owned()),
        }
    }

    /// Waits until a job has come to a step, or is past it, or has ended.
    pub async fn reached(&self, job: u64, steps: &[&str]) {
        let until = Instant::now() + JOB_WITHIN;
        while Instant::now() < until {
            if let Some(found) = self.jobs.job(job).await
                && (steps.contains(&found.step.as_str()) || found.state() != pb::JobState::Running)
            {
                return;
            }
            tokio::time::sleep(JOB_LOOK_EVERY).await;
        }
    }

    /// Where the replicas that vote are, group 0's too.
    pub async fn places(&self) -> Result<Places, CommandError> {
        let mut patience = Patience::quiet(JOB_WITHIN);
        let answer = patience.until(async || self.admin.shards().await).await;
        let answer = answer.map_err(|error| CommandError::of("nobody tells the map", error))?;
        let of = |shard: &pb::Shard| {
            let voters = shard.replicas.iter().filter(|replica| replica.voter);
            voters.map(|replica| replica.node).collect()
        };
        let shards = answer.shards.iter();
        Ok(shards.map(|shard| (shard.shard, of(shard))).collect())
    }

    /// Waits until no job has run for a few looks; false if that does not come.
    pub async fn quiet(&self) -> bool {
        const LOOKS: u32 = 25;
        let until = Instant::now() + QUIET_JOBS_WITHIN;
        let mut looks = 0;
        while Instant::now() < until {
            let jobs = self.admin.jobs(0).await;
            let is_quiet = jobs.is_ok_and(|answer| {
                let mut jobs = answer.jobs.iter();
                jobs.all(|job| job.state() != pb::JobState::Running)
            });
            looks = if is_quiet { looks + 1 } else { 0 };
            if looks == LOOKS {
                return true;
            }
            tokio::time::sleep(QUIET_LOOK_EVERY).await;
        }
        false
    }

    /// How many moves there were after a job.
    pub async fn moves_after(&self, job: u64) -> Option<usize> {
        let jobs = self.admin.jobs(0).await.ok()?.jobs;
        let moves = jobs
            .iter()
            .filter(|found| found.job > job && found.kind() == pb::JobKind::Move);
        Some(
            moves
                .filter(|job| job.state() == pb::JobState::Done)
                .count(),
        )
    }

    /// The number of the newest job; 0: none yet.
    pub async fn newest_job(&self) -> u64 {
        let jobs = self.admin.jobs(0).await;
        let newest = jobs
            .ok()
            .and_then(|answer| answer.jobs.last().map(|j| j.job));
        newest.unwrap_or(0)
    }
}

/// What a node has by a map, group 0 included.
pub fn replicas_of(places: &Places, node: u32) -> usize {
    places.values().filter(|on| on.contains(&node)).count()
}

/// What is wrong with where replicas are: each group has so many voters.
pub fn check_voters(places: &Places, voters: usize) -> Result<(), String> {
    match places.iter().find(|(_, on)| on.len() != voters) {
        None => Ok(()),
        Some((group, on)) => Err(format!("group {group} votes on nodes {on:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voters_are_counted_by_group_and_by_node() {
        let on = |nodes: &[u32]| nodes.iter().copied().collect();
        let places: Places = [(0, on(&[1, 2, 3])), (1, on(&[2, 3, 4]))].into();
        assert_eq!((replicas_of(&places, 2), replicas_of(&places, 4)), (2, 1));
        assert_eq!(check_voters(&places, 3), Ok(()));
        let places: Places = [(1, on(&[2, 3]))].into();
        assert!(check_voters(&places, 3).is_err_and(|why| why.contains("group 1")));
    }
}
