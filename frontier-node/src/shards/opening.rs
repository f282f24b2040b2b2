//! Opens shards that this node should have and that are not open: those that were created here, children that its own replicas
//! seeded, and replicas that the map gives it.
//!
//! A child is made out of the rows that the parent's replica left here, under that replica's id, which its founding entry names.
//! Where the split passed this node by, with a snapshot or before it came, the child's replica is an empty one that its leader feeds,
//! and it is the map that says whether there is one and under which id (case L22).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::{Machine, ShardId};
use raftlog::{ChildGroup, Engine, GroupError, NodeId, StateView};

use crate::service::NodeShared;
use crate::shard::Shard;
use crate::state::ViewRows;

/// Who makes a child's replica on a node whose own rows do not hold its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    /// Nobody but the map says so.
    ByMap,
    /// There is no map: every replica of the parent makes one.
    ByParent,
}

/// The children that replicas here know of and that are not open, but none of those that leave; with the replica that each is to be:
/// that of its parent.
pub(super) fn missing_children(
    shared: &NodeShared,
    leaving: &BTreeMap<u64, NodeId>,
) -> BTreeSet<(u64, NodeId)> {
    let own = shared.context.map.own().into_iter();
    let missing = own.filter(|shard| shared.shards.get(*shard).is_none());
    let as_parent = |shard: u64| {
        let parent = shared.context.map.parent(shard)?;
        let open = shared.shards.get(parent).map(|parent| parent.replica());
        open.or_else(|| leaving.get(&parent).copied())
    };
    let missing = missing.filter(|shard| !leaving.contains_key(shard));
    missing
        .map(|shard| (shard, as_parent(shard).unwrap_or(shared.context.replica)))
        .collect()
}

/// Opens one, as that replica; `None`: no rows here say that this node has it.
pub(super) async fn open_child(
    engine: &Engine,
    shared: &NodeShared,
    (child, own): (u64, NodeId),
    late: Late,
) -> Result<Option<Arc<Shard>>, GroupError> {
    let context = &shared.context;
    let parent = context.map.parent(child);
    let is_named = move |view: &StateView<'_>| {
        let split =
            |parent| Machine::stored_split(&ViewRows(view), ShardId(parent), ShardId(child));
        parent.is_some_and(|parent| split(parent).unwrap_or(false))
    };
    let found = engine.create_child(child, own, is_named).await?;
    let newborn = context.map.take_newborn(child);
    let machine = match (found, late) {
        (ChildGroup::Created, _) => newborn,
        (ChildGroup::Existed, _) => None,
        (ChildGroup::Elsewhere, Late::ByParent) => {
            engine.create_replica(child, own).await?;
            None
        }
        (ChildGroup::Elsewhere, Late::ByMap) | (ChildGroup::Unfounded | ChildGroup::Removed, _) => {
            return Ok(None);
        }
    };
    tracing::info!(
        shard = child,
        parent,
        ?found,
        "a child of a split is opened"
    );
    let open = Shard::open(engine, child, machine, context.clone()).await?;
    let open = Arc::new(open);
    shared.shards.insert(Arc::clone(&open));
    Ok(Some(open))
}

/// Makes a replica that the map gives this node, and opens it. `None`: not yet, since a shard here still holds a part of its range:
/// it has the split of which the other comes ahead of it, or it goes.
pub(super) async fn open_placed(
    engine: &Engine,
    shared: &NodeShared,
    shard: u64,
    replica: NodeId,
) -> Result<Option<Arc<Shard>>, GroupError> {
    let context = &shared.context;
    let Some(extent) = context.map.extent(shard) else {
        return Ok(None);
    };
    let mut here = shared.shards.all().into_iter();
    let holder = here.find(|open| open.extent().is_some_and(|other| other.overlaps(&extent)));
    if let Some(holder) = holder {
        tracing::debug!(
            shard,
            holder = holder.id(),
            "its range is another's here yet"
        );
        return Ok(None);
    }
    engine.create_replica(shard, replica).await?;
    tracing::info!(shard, replica, "a replica is made, as the map says");
    let open = Shard::open(engine, shard, None, context.clone()).await?;
    let open = Arc::new(open);
    shared.shards.insert(Arc::clone(&open));
    Ok(Some(open))
}
