//! What is not as it should be: replicas on disks that were lost, groups with too few voters, pins that are not followed.

use std::collections::BTreeSet;

use super::outlook::Outlook;
use crate::{
    command::MoveReplica,
    model::{Members, ShardMap},
};

/// From which node to which; from 0: the group grows.
type Ends = (u32, u32);
type Kind = fn(&Outlook, u64, &Members) -> Option<Ends>;

/// At most one move a group, the most urgent first: lost disks, then missing voters, then pins. Groups that have a job
/// are left out.
///
/// `down`: nodes that do not answer now; nothing is moved to them.
#[must_use]
pub fn repairs(map: &ShardMap, down: &BTreeSet<u32>) -> Vec<MoveReplica> {
    let mut outlook = Outlook::of(map, down);
    let kinds: [Kind; 3] = [lost_disk, missing_voter, unfollowed_pin];
    let mut moves: Vec<MoveReplica> = Vec::new();
    for kind in kinds {
        for (group, members) in map.groups() {
            let is_planned = moves.iter().any(|planned| planned.shard == group);
            if is_planned || map.job_of_shard(group).is_some() {
                continue;
            }
            if let Some((from, to)) = kind(&outlook, group, members) {
                outlook.moves(group, from, to);
                moves.push(MoveReplica {
                    shard: group,
                    epoch: members.epoch,
                    from,
                    to,
                    ..MoveReplica::default()
                });
            }
        }
    }
    moves
}

/// The node came back with a new disk: it takes the place that its old one had.
fn lost_disk(outlook: &Outlook, _group: u64, members: &Members) -> Option<Ends> {
    let is_lost = |node: u32, incarnation: u32| {
        let now = outlook.map.node(node);
        now.is_some_and(|now| outlook.is_target(node) && now.incarnation > incarnation)
    };
    let mut voters = members.voters().map(|r| r.replica_id());
    let lost = voters.find(|id| is_lost(id.node(), id.incarnation()))?;
    Some((lost.node(), lost.node()))
}

/// The cluster was founded with fewer nodes than a group should have voters.
fn missing_voter(outlook: &Outlook, group: u64, members: &Members) -> Option<Ends> {
    if members.voters().count() >= outlook.map.replica_target as usize {
        return None;
    }
    outlook.target(group).map(|to| (0, to))
}

/// Someone said where the group should be.
fn unfollowed_pin(outlook: &Outlook, group: u64, members: &Members) -> Option<Ends> {
    let is_on = outlook.nodes(group);
    let is_missing = |node: &&u32| outlook.is_target(**node) && !is_on.contains(*node);
    let to = *members.pinned.iter().find(is_missing)?;
    let gives = |node: &&u32| outlook.is_usable(**node) && !members.pinned.contains(*node);
    let order = outlook.order(group);
    let place = |of: u32| order.iter().position(|n| *n == of);
    let from = is_on.iter().filter(gives).max_by_key(|n| place(**n))?;
    Some((*from, to))
}
