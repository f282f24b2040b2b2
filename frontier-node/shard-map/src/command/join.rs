//! `join`: a node comes, comes back at another address, or comes back with a new disk.

use super::{checks, drain};
use crate::{
    limits,
    model::{Identity, Node, NodeState, Plan, ShardMap},
    refusal::Refusal,
};

/// A node takes part from now on. Sent again it changes nothing.
///
/// A higher incarnation than the known one is a new disk: what the old disk had is dead, and `placement::repairs`
/// proposes new replicas in its place. If the node was being replaced, that job is undone: the place has a disk again.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Join {
    /// Of the cluster that it means.
    #[prost(fixed64, tag = "1")]
    pub cluster_id: u64,
    /// What it names and places URLs by.
    #[prost(message, required, tag = "2")]
    pub identity: Identity,
    /// The node; its state is ignored.
    #[prost(message, required, tag = "3")]
    pub node: Node,
}

impl Join {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        checks::same_cluster(next, self.cluster_id, &self.identity)?;
        checks::well_formed(&self.node)?;
        let state = self.state(next)?;
        let taken = next
            .present_nodes()
            .find(|n| n.number != self.node.number && n.address == self.node.address);
        if let Some(other) = taken {
            return Err(Refusal::AddressTaken(other.number));
        }
        if !self.node.holds_shards && !next.is_empty(self.node.number) {
            return Err(Refusal::NodeNotEmpty {
                node: self.node.number,
                replicas: next.replicas_on(self.node.number),
            });
        }
        let mut node = self.node.clone();
        node.set_state(state);
        let job = self.ends_replacement(next);
        if job.is_some() {
            drain::call_off(next, node.number, "the node came back with a new disk");
            node.set_state(NodeState::Up);
        }
        enter(next, node)?;
        Ok(job)
    }

    /// A new disk in the place of a node that is being given up: the place is not given up any more.
    fn ends_replacement(&self, next: &ShardMap) -> Option<u64> {
        let known = next.node(self.node.number)?;
        let job = next.job_of_node(known.number)?;
        let is_replacement = matches!(job.plan, Some(Plan::Replace(_)));
        (is_replacement && self.node.incarnation > known.incarnation).then_some(job.id)
    }

    /// What it is from now on; refused under an incarnation that was given up.
    fn state(&self, next: &ShardMap) -> Result<NodeState, Refusal> {
        let Some(known) = next.node(self.node.number) else {
            return Ok(NodeState::Up);
        };
        let (given, current) = (self.node.incarnation, known.incarnation);
        let is_gone = known.state() == NodeState::Gone;
        if given < current || (given == current && is_gone) {
            return Err(Refusal::IncarnationReused {
                node: self.node.number,
                given,
                current,
                state: known.state(),
            });
        }
        // An address may change, a directory is another incarnation.
        if given == current && self.node.disk != known.disk {
            return Err(Refusal::NumberTaken(known.number));
        }
        Ok(if is_gone {
            NodeState::Up
        } else {
            known.state()
        })
    }
}

fn enter(next: &mut ShardMap, node: Node) -> Result<(), Refusal> {
    if let Some(known) = next.node_mut(node.number) {
        *known = node;
        return Ok(());
    }
    if next.nodes.len() >= limits::NODES {
        return Err(Refusal::Limit {
            what: "the number of nodes",
            max: limits::NODES as u64,
        });
    }
    next.nodes.push(node);
    next.nodes.sort_unstable_by_key(|n| n.number);
    Ok(())
}
