//! The shards of a node that starts: those of the founding that it was given and has not made yet, and everything that was created
//! here and not removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use raftlog::{Engine, GroupConfig, GroupError, NodeId};
use shard_map::GROUP_ZERO;

use super::opening::{Late, missing_children, open_child};
use crate::identity::{Descriptor, FoundingVoters, ShardRange};
use crate::service::NodeShared;
use crate::shard::Shard;
use crate::state::initial_rows;

/// Opens them; each replays what it had committed. `voters` are the founding voters of the first shards.
pub(crate) async fn open_shards(
    engine: &Engine,
    shared: &NodeShared,
    descriptor: &Descriptor,
    voters: &FoundingVoters,
    late: Late,
) -> Result<(), GroupError> {
    let context = &shared.context;
    for range in &descriptor.shards {
        // Known, wherever it is.
        context.map.founded(range);
    }
    let created = engine.created_groups().await?;
    let missing = descriptor.shards.iter();
    for range in missing.filter(|range| !created.contains(&range.shard)) {
        make(engine, range, context.replica, voters, late).await?;
    }
    for id in engine.created_groups().await? {
        // 0 is the cluster's own group.
        if id != GROUP_ZERO {
            let shard = Shard::open(engine, id, None, context.clone()).await?;
            shared.shards.insert(Arc::new(shard));
        }
    }
    let none = BTreeMap::new();
    let mut untried = missing_children(shared, &none);
    while let Some(child) = untried.pop_first() {
        if open_child(engine, shared, child, late).await?.is_some() {
            untried = missing_children(shared, &none);
        }
    }
    Ok(())
}

/// Makes the replica of a shard of the founding, if this node has one that was never removed.
async fn make(
    engine: &Engine,
    range: &ShardRange,
    own: NodeId,
    voters: &FoundingVoters,
    late: Late,
) -> Result<(), GroupError> {
    let members = voters.of_group(range.shard);
    let made = if members.contains(&own) {
        let config = GroupConfig {
            group_id: range.shard,
            members: members.clone(),
            initial_rows: initial_rows(range),
        };
        engine.create_group(config).await
    } else if late == Late::ByParent {
        // Without a map nobody else says that it is to be fed.
        engine.create_replica(range.shard, own).await
    } else {
        return Ok(());
    };
    match made {
        Err(GroupError::Removed { .. }) => Ok(()),
        made => made,
    }
}
