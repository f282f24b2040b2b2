//! Nodes are cut off from each other while clients still reach them, both ways and one way, and a cable is pulled: a leader
//! without a quorum gives no leases, and what it believes when it comes back makes no host's wait shorter.

mod network;

use super::args::Common;
use super::limits::CAUGHT_UP_WITHIN;
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::cluster::Addresses;
use crate::output::CommandError;
use network::Network;
use std::path::Path;
use std::time::Duration;

/// Ports in a network namespace, which nobody else is in.
const PORTS: (u16, u16) = (7_701, 7_781);
/// How long a cut lasts after the others lease again.
const CUT: Duration = Duration::from_secs(5);
/// Between two rounds.
const BETWEEN: Duration = Duration::from_secs(2);
/// What one round takes, about.
const ROUND: Duration = Duration::from_secs(14);

/// What is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// Between the leader and the other nodes; clients reach all.
    BothWays,
    /// The other nodes do not hear the leader.
    FromLeader,
    /// The leader does not hear the other nodes.
    ToLeader,
    /// The leader is cut off from everybody.
    Cable,
}

impl Cut {
    const ALL: [Self; 4] = [
        Self::BothWays,
        Self::FromLeader,
        Self::ToLeader,
        Self::Cable,
    ];

    const fn words(self) -> &'static str {
        match self {
            Self::BothWays => "was cut off from the other nodes",
            Self::FromLeader => "was no longer heard by the other nodes",
            Self::ToLeader => "no longer heard the other nodes",
            Self::Cable => "lost its cable",
        }
    }
}

/// The drill, with the network it made.
#[derive(Default)]
pub struct Partition {
    network: Option<Network>,
}

impl Drill for Partition {
    const NAME: &'static str = "partition";
    const ROUNDS: u32 = 4;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        let mut plan = Plan::lasting(ROUND * rounds, common);
        let network = self.network.insert(Network::make(plan.nodes)?);
        plan.addresses = Some(Addresses::fixed(&network.hosts(), PORTS.0, PORTS.1));
        for node in 1..=plan.nodes {
            let flags = vec!["--allow-non-loopback".to_owned()];
            plan.node_flags.insert(node, flags);
            plan.node_within.insert(node, network.within(node));
        }
        Ok(plan)
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        let mut measured = Measured::default();
        let network = self
            .network
            .as_ref()
            .ok_or_else(|| CommandError::Message("there is no network".to_owned()))?;
        for round in 1..=rounds {
            let cut = Cut::ALL[(round as usize - 1) % Cut::ALL.len()];
            let (shard, leader) = rig.some_leader().await?;
            let probe = rig.probe(shard, &[leader]);
            apply(network, cut, leader, &rig.cluster.node_numbers())?;
            let next = probe.first().await?;
            note_round(
                round,
                format_args!(
                    "node {leader}, which led shard {shard}, {}; next lease by the others after {} ms",
                    cut.words(),
                    next.as_millis()
                ),
            );
            measured.next_lease.push(next);
            rig.settle(CUT).await?;
            network.heal()?;
            rig.control.wait_caught_up(leader, CAUGHT_UP_WITHIN).await?;
            rig.settle(BETWEEN).await?;
        }
        Ok(measured)
    }
}

fn apply(network: &Network, cut: Cut, leader: u32, nodes: &[u32]) -> Result<(), CommandError> {
    if cut == Cut::Cable {
        return network.pull_cable(leader);
    }
    for other in nodes.iter().filter(|node| **node != leader) {
        if cut != Cut::ToLeader {
            network.cut(leader, *other)?;
        }
        if cut != Cut::FromLeader {
            network.cut(*other, leader)?;
        }
    }
    Ok(())
}
