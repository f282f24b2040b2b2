//! Opens shards that this node should have and that are not open: those that were created here, children that its own replicas
//! seeded, and replicas that the map gives it.
//!
//! A child is made out of the rows that the parent's replica left here, under that replica's id, which its founding entry names.
//! Where the split passed this node by, with a snapshot or before it came, the child's replica is an empty one that its leader feeds,
//! and it is the map that says whether there is one and under which id (case L22).

use std::collections::BTreeMap;
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

/// Opens all children of the shards here that are missing, their children too, but none of those that leave; the ones it opened.
pub(super) async fn open_children(
    engine: &Engine,
    shared: &NodeShared,
    late: Late,
    leaving: &BTreeMap<u64, NodeId>,
) -> Result<Vec<Arc<Shard>>, GroupError> {
    let mut opened = Vec::new();
    loop {
        let before = opened.len();
        for shard in shared.context.map.own() {
            if shared.shards.get(shard).is_some() || leaving.contains_key(&shard) {
                continue;
            }
            let parent = shared.context.map.parent(shard);
            let open = parent.and_then(|parent| Some(shared.shards.get(parent)?.replica()));
            let left = parent.and_then(|parent| leaving.get(&parent).copied());
            let own = open.or(left).unwrap_or(shared.context.replica);
            if let Some(shard) = open_child(engine, shared, (shard, own), late).await? {
                shared.shards.insert(Arc::clone(&shard));
                opened.push(shard);
            }
        }
        if opened.len() == before {
            return Ok(opened);
        }
    }
}

/// Opens one, as the replica that its parent's is; `None`: no rows here say that this node has it.
async fn open_child(
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
    let shard = Shard::open(engine, child, machine, context.clone()).await?;
    Ok(Some(Arc::new(shard)))
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
