//! The disk of one node is filled, then that of a second: the crawl goes on without the first, pauses without the second, and
//! says why. With space again it goes on.

mod small_disk;

use super::args::Common;
use super::limits::{CRAWL, NODES};
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use client::{CallError, Frontier};
use proto::frontier_v1 as pb;
use small_disk::SmallDisk;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long one full disk is watched.
const ONE_FULL: Duration = Duration::from_secs(6);
/// After two are full, until what was leased before is fetched.
const IN_FLIGHT: Duration = Duration::from_secs(6);
/// How long two full disks are watched.
const BOTH_FULL: Duration = Duration::from_secs(3);
/// How long a refusal that names the reason is waited for.
const REFUSED_WITHIN: Duration = Duration::from_secs(15);
/// Between two rounds.
const BETWEEN: Duration = Duration::from_secs(4);
/// Pause between two questions.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// The drill, with the disks it made.
#[derive(Default)]
pub struct DiskFull {
    disks: BTreeMap<u32, SmallDisk>,
}

impl Drill for DiskFull {
    const NAME: &'static str = "disk-full";
    const ROUNDS: u32 = 2;

    fn plan(&mut self, common: &Common, rounds: u32, dir: &Path) -> Result<Plan, CommandError> {
        for node in 1..=NODES {
            let at = dir.join(format!("node-{node}"));
            self.disks.insert(node, SmallDisk::mount(&at)?);
        }
        Ok(Plan::lasting(
            (ONE_FULL + IN_FLIGHT + BOTH_FULL + BETWEEN) * rounds,
            common,
        ))
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        for round in 1..=rounds {
            let (shard, first) = rig.some_leader().await?;
            self.disk(first)?.fill()?;
            let rate = rig.rate(ONE_FULL).await?;
            note_round(
                round,
                format_args!(
                    "the disk of node {first}, which led shard {shard}, is full: {rate:.1} requests a second"
                ),
            );
            if rate == 0.0 {
                let text = format!("with one full disk of {NODES}, the crawl stood still");
                measured.broken.push(text);
            }
            let others = rig
                .cluster
                .node_numbers()
                .into_iter()
                .filter(|n| *n != first);
            let others: Vec<u32> = others.collect();
            let second = others[rig.choose(others.len())];
            self.disk(second)?.fill()?;
            // What was leased before is still fetched.
            rig.settle(IN_FLIGHT).await?;
            let rate = rig.rate(BOTH_FULL).await?;
            match wait_refusal(rig, shard).await? {
                Some(reason) => note_round(
                    round,
                    format_args!(
                        "the disk of node {second} is full as well: {rate:.1} requests a second; refused: {reason}"
                    ),
                ),
                None => measured.broken.push(format!(
                    "with the disks of nodes {first} and {second} full, no refusal named the reason"
                )),
            }
            let probe = rig.probe(shard, &[]);
            self.disk(first)?.free()?;
            self.disk(second)?.free()?;
            let next = probe.first().await?;
            note_round(
                round,
                format_args!("space again; next lease after {} ms", next.as_millis()),
            );
            measured.next_lease.push(next);
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}

impl DiskFull {
    fn disk(&self, node: u32) -> Result<&SmallDisk, CommandError> {
        self.disks
            .get(&node)
            .ok_or_else(|| CommandError::Message(format!("node {node} has no disk")))
    }
}

/// Asks every node for an entry until one refuses for want of space. `None`: none did in time.
async fn wait_refusal(rig: &mut Rig, shard: u64) -> Result<Option<String>, CommandError> {
    let until = Instant::now() + REFUSED_WITHIN;
    while Instant::now() < until {
        for node in rig.others(&[]) {
            // A policy as it is changes nothing, but is an entry.
            let policy = pb::CrawlPolicy {
                crawl: CRAWL + 1,
                ..pb::CrawlPolicy::default()
            };
            let request = pb::SetPolicyRequest {
                shard,
                policy: Some(pb::set_policy_request::Policy::Crawl(policy)),
            };
            if let Err(error) = node.set_policy(request).await
                && names_space(&error)
            {
                return Ok(Some(error.to_string()));
            }
        }
        rig.settle(ASK_EVERY).await?;
    }
    Ok(None)
}

/// Whether a refusal says that there is no space.
fn names_space(error: &CallError) -> bool {
    let text = error.to_string().to_lowercase();
    ["disk", "space", "enospc"]
        .iter()
        .any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_the_disk() {
        let unavailable = |reason: &str| CallError::Unavailable {
            reason: reason.to_owned(),
            retry_after_ms: 0,
        };
        assert!(names_space(&unavailable("disk full: 0 of 64 MiB are free")));
        assert!(names_space(&unavailable("No space left on device")));
        assert!(!names_space(&unavailable("no quorum")));
    }
}
