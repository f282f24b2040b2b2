//! M4: node numbers and addresses are unique, states are known, and pins and wishes name nodes that are there.

use std::collections::BTreeSet;

use super::{Broken, ensure};
use crate::limits::NODE_NUMBER;
use crate::model::{NodeState, ShardMap};

const NUMBER: &str = "M4";

pub(super) fn check(map: &ShardMap) -> Result<(), Broken> {
    let in_order = map.nodes.windows(2).all(|w| w[0].number < w[1].number);
    let in_bounds = map
        .nodes
        .iter()
        .all(|node| (1..=NODE_NUMBER).contains(&node.number));
    ensure(in_order && in_bounds, NUMBER, || {
        "node numbers are out of order".to_owned()
    })?;
    let mut addresses = BTreeSet::new();
    for node in &map.nodes {
        ensure(NodeState::try_from(node.state).is_ok(), NUMBER, || {
            format!("node {} has an unknown state", node.number)
        })?;
        let is_new = node.state() == NodeState::Gone || addresses.insert(&node.address);
        ensure(is_new, NUMBER, || {
            format!("node {} has the address of another", node.number)
        })?;
    }
    let is_present = |number: u32| {
        map.node(number)
            .is_some_and(|node| node.state() != NodeState::Gone)
    };
    for (group, members) in map.groups() {
        ensure(
            members.pinned.iter().all(|n| is_present(*n)),
            NUMBER,
            || format!("group {group} is pinned to a node that is not there"),
        )?;
        let wish = members.wished_leader;
        ensure(wish == 0 || members.is_on(wish), NUMBER, || {
            format!("group {group} should be led by node {wish}, which does not have it")
        })?;
    }
    let crawls_in_order = map.crawls.windows(2).all(|w| w[0].id < w[1].id);
    ensure(crawls_in_order, NUMBER, || {
        "crawls are out of order".to_owned()
    })
}
