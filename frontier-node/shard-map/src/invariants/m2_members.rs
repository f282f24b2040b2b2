//! M2: every group has a voter; replicas are on nodes that are there, under ids that were issued; one voter a node; a
//! learner belongs to a move.
//!
//! Closes: a vote under an id that voted before, two votes of one disk, a learner that nobody remembers.

use std::collections::BTreeSet;

use super::{Broken, ensure};
use crate::model::{Members, NodeState, Plan, Replica, Role, ShardMap};

const NUMBER: &str = "M2";

pub(super) fn check(map: &ShardMap) -> Result<(), Broken> {
    for (group, members) in map.groups() {
        let in_order = members.replicas.windows(2).all(|w| w[0].id < w[1].id);
        let issued_in_order = members
            .issued
            .windows(2)
            .all(|w| node_of(w[0]) < node_of(w[1]));
        ensure(in_order && issued_in_order, NUMBER, || {
            format!("ids of group {group} are out of order")
        })?;
        check_voters(group, members)?;
        for replica in &members.replicas {
            check_replica(map, group, members, replica)?;
        }
    }
    Ok(())
}

fn node_of(id: u64) -> u32 {
    crate::model::ReplicaId(id).node()
}

fn check_voters(group: u64, members: &Members) -> Result<(), Broken> {
    let nodes: BTreeSet<u32> = members.voters().map(Replica::node).collect();
    ensure(!nodes.is_empty() && members.epoch > 0, NUMBER, || {
        format!("group {group} has no voter or no epoch")
    })?;
    ensure(nodes.len() == members.voters().count(), NUMBER, || {
        format!("a node votes twice in group {group}")
    })
}

fn check_replica(
    map: &ShardMap,
    group: u64,
    members: &Members,
    replica: &Replica,
) -> Result<(), Broken> {
    let (id, node) = (replica.id, replica.node());
    let role = Role::try_from(replica.role);
    ensure(role.is_ok(), NUMBER, || {
        format!("replica {id} of group {group} has an unknown role")
    })?;
    let newest = members.newest_issued(node);
    ensure(newest >= Some(replica.replica_id()), NUMBER, || {
        format!("replica {id} of group {group} was never issued")
    })?;
    let on = map.node(node);
    let is_there = on.is_some_and(|node| {
        node.state() != NodeState::Gone && replica.replica_id().incarnation() <= node.incarnation
    });
    ensure(is_there, NUMBER, || {
        format!("replica {id} of group {group} is on a node that is not there")
    })?;
    let is_fed = map
        .running_jobs()
        .any(|job| matches!(&job.plan, Some(Plan::Move(m)) if m.shard == group && m.new == id));
    ensure(role == Ok(Role::Voter) || is_fed, NUMBER, || {
        format!("nobody moves learner {id} of group {group}")
    })
}
