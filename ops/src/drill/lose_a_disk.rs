//! A node is killed and its directory emptied. It comes back as a new replica, is fed, and counts again: the shards then
//! survive the loss of another node, which they could not with two voters.

use super::args::Common;
use super::limits::COPIES;
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the node stays away.
const AWAY: Duration = Duration::from_secs(2);
/// How long a fed replica may take to be a voter of every shard.
const VOTER_WITHIN: Duration = Duration::from_secs(8);
/// Between two rounds.
const BETWEEN: Duration = Duration::from_secs(3);
/// What one round takes, about.
const ROUND: Duration = Duration::from_secs(20);

/// The drill.
pub struct LoseADisk;

impl Drill for LoseADisk {
    const NAME: &'static str = "lose-a-disk";
    const ROUNDS: u32 = 2;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        let mut plan = Plan::lasting(ROUND * rounds, common);
        plan.may_lose_pages = rounds >= COPIES;
        Ok(plan)
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        for round in 1..=rounds {
            let (shard, node) = rig.some_leader().await?;
            let before = rig.cluster.replica(node);
            let probe = rig.probe(shard, &[node]);
            rig.cluster.kill_node(node)?;
            rig.cluster.wipe_node(node)?;
            measured.next_lease.push(probe.first().await?);
            rig.settle(AWAY).await?;
            let empty = Instant::now();
            rig.bring_back(node).await?;
            let after = rig.cluster.replica(node);
            note_round(
                round,
                format_args!(
                    "node {node} lost its disk; replica {} is now {}, fed in {} ms",
                    before.unwrap_or(0),
                    after.unwrap_or(0),
                    empty.elapsed().as_millis()
                ),
            );
            if after <= before {
                measured.broken.push(format!(
                    "node {node} came back with an empty disk as replica {after:?}, was {before:?}"
                ));
            }
            lose_another(rig, node, round).await?;
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}

/// With another node away, every shard has a quorum only with the new replica's vote.
async fn lose_another(rig: &mut Rig, fed: u32, round: u32) -> Result<(), CommandError> {
    rig.settle(VOTER_WITHIN).await?;
    let others = rig.cluster.node_numbers().into_iter().filter(|n| *n != fed);
    let others: Vec<u32> = others.collect();
    let other = others[rig.choose(others.len())];
    rig.cluster.kill_node(other)?;
    for shard in rig.control.shards() {
        rig.probe(shard, &[other]).first().await?;
    }
    note_round(
        round,
        format_args!("without node {other} every shard leases, by the new replica's vote"),
    );
    rig.bring_back(other).await
}
