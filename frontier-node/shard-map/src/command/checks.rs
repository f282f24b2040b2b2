//! What several commands check.

use crate::{
    limits,
    model::{Identity, Members, Node, NodeState, ShardMap},
    refusal::Refusal,
};

/// A group as the caller saw it, and free for a job.
pub(super) fn free_group(next: &ShardMap, group: u64, epoch: u64) -> Result<&Members, Refusal> {
    let members = next.members(group).ok_or(Refusal::UnknownShard(group))?;
    if let Some(job) = next.job_of_shard(group) {
        return Err(Refusal::ShardBusy {
            shard: group,
            job: job.id,
        });
    }
    if members.epoch != epoch {
        return Err(Refusal::StaleEpoch {
            shard: group,
            given: epoch,
            current: members.epoch,
        });
    }
    Ok(members)
}

/// A node that is not gone.
pub(super) fn present_node(next: &ShardMap, number: u32) -> Result<&Node, Refusal> {
    let node = next.node(number).ok_or(Refusal::UnknownNode(number))?;
    if node.state() == NodeState::Gone {
        return Err(unusable(node));
    }
    Ok(node)
}

/// A node that may be given replicas.
pub(super) fn usable_node(next: &ShardMap, number: u32) -> Result<&Node, Refusal> {
    let node = next.node(number).ok_or(Refusal::UnknownNode(number))?;
    if node.is_usable() {
        Ok(node)
    } else {
        Err(unusable(node))
    }
}

fn unusable(node: &Node) -> Refusal {
    let why = match node.state() {
        NodeState::Up => "it holds no shards",
        state => state.name(),
    };
    Refusal::NodeNotUsable {
        node: node.number,
        why,
    }
}

/// Without this node every replica must still have a place.
pub(super) fn can_do_without(next: &ShardMap, number: u32) -> Result<(), Refusal> {
    let left = next.usable_nodes().filter(|n| n.number != number).count();
    let voters = next.groups().map(|(_, members)| members.voters().count());
    let needed = voters.max().unwrap_or(0);
    match left {
        0 => Err(Refusal::LastNode(number)),
        left if left < needed => Err(Refusal::NotEnoughNodes { needed, left }),
        _ => Ok(()),
    }
}

/// A node's own words, before it is entered.
pub(super) fn well_formed(node: &Node) -> Result<(), Refusal> {
    let is_bounded = |address: &str| address.len() <= limits::ADDRESS_SIZE_BYTES;
    if !(1..=limits::NODE_NUMBER).contains(&node.number) {
        return Err(Refusal::Invalid("a node's number is from 1 to 65 535"));
    }
    if node.address.is_empty() || !is_bounded(&node.address) || !is_bounded(&node.http_address) {
        return Err(Refusal::Invalid(
            "a node needs an address of bounded length",
        ));
    }
    Ok(())
}

/// The caller is of this cluster and names URLs as it does.
pub(super) fn same_cluster(
    next: &ShardMap,
    cluster_id: u64,
    identity: &Identity,
) -> Result<(), Refusal> {
    if cluster_id != next.cluster_id {
        return Err(Refusal::OtherCluster {
            ours: next.cluster_id,
            given: cluster_id,
        });
    }
    next.identity.require(identity)
}

/// A reason as it is kept.
pub(super) fn cut(reason: &str) -> String {
    let mut end = reason.len().min(limits::REASON_SIZE_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason[..end].to_owned()
}
