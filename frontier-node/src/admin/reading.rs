//! One read: this node's copy of the map, with proof where it can be had, and who leads what.

use std::collections::BTreeMap;
use std::time::Duration;

use proto::admin_v1 as pb;
use shard_map::GROUP_ZERO;

use crate::cluster::node_number;
use crate::limits::ADMIN_PROOF_MS;
use crate::map::{MapNode, MapView};
use crate::node::FrontierNode;

/// What an answer is made of.
pub(super) struct Reading {
    pub(super) view: MapView,
    pub(super) copy: pb::MapCopy,
    /// The leader's node of each group, as far as this node knows.
    pub(super) leaders: BTreeMap<u64, u32>,
}

impl Reading {
    /// Reads this node's copy. Unless only `local` is wanted, proof is sought where this node leads group 0.
    pub(super) async fn take(node: &FrontierNode, map: &MapNode, local: bool) -> Self {
        let (view, zero) = (map.view(), map.zero());
        // After the read: what is proven then is that nothing newer had been acknowledged before the call.
        let longest = Duration::from_millis(ADMIN_PROOF_MS);
        let proven = match &zero {
            Some(zero) if !local => zero.prove(longest).await,
            _ => false,
        };
        let groups = node.groups().into_iter();
        let leaders = groups.filter_map(|group| {
            let leader = group.leadership().borrow().leader?;
            Some((group.group_id(), node_number(leader)))
        });
        // Who leads group 0 has asked all nodes; of its own groups it knows at once.
        let mut known = map.leading();
        known.extend(leaders);
        let leaders = known;
        let status = zero.map(|zero| zero.group().status());
        let behind = status.map(|s| s.committed_index.saturating_sub(s.applied_index));
        let copy = pb::MapCopy {
            version: view.map.version,
            applied_index: view.applied_index,
            node: node_number(map.process()),
            proven,
            leader: leaders.get(&GROUP_ZERO).copied().unwrap_or(0),
            leader_address: map.leader_address(),
            behind_entries: behind.unwrap_or(0),
        };
        Self {
            view,
            copy,
            leaders,
        }
    }
}
