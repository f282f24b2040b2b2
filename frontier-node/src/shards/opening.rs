//! Opens the shards that the local map names and that are not open here.
//!
//! A node that has a replica of a shard makes one of each child: out of the rows that its own parent replica left, or, where
//! these came past the split with a snapshot, an empty one that the child's leader feeds. There is no other way to a child's
//! replica, so it is made once (case L22).

use std::sync::Arc;
use std::time::Duration;

use client::Router;
use machine::{Machine, ShardId};
use raftlog::{ChildGroup, Engine, GroupError, StateView};

use super::first_election;
use crate::limits::OPEN_RETRY_MS;
use crate::outbox::OutboxTask;
use crate::service::NodeShared;
use crate::shard::Shard;
use crate::state::ViewRows;

/// Opens children while the node runs.
pub(crate) struct Opener {
    pub(crate) engine: Arc<Engine>,
    pub(crate) shared: Arc<NodeShared>,
    pub(crate) router: Arc<Router>,
}

impl Opener {
    /// Starts what an open shard does unasked.
    pub(crate) fn start(&self, shard: Arc<Shard>) {
        let context = &self.shared.context;
        let metrics = Arc::clone(&context.metrics);
        let outbox = OutboxTask::new(shard, Arc::clone(&self.router), metrics);
        tokio::spawn(context.stop.clone().run_until_cancelled_owned(outbox.run()));
    }

    /// Follows the local map until the node stops.
    pub(crate) async fn run(self) {
        loop {
            match open_missing(&self.engine, &self.shared).await {
                Ok(Opened { shards, is_all }) => {
                    for shard in shards {
                        self.start(Arc::clone(&shard));
                        self.elect(shard);
                    }
                    if is_all {
                        self.shared.context.map.news().await;
                        continue;
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "a child of a split does not open; it is tried again")
                }
            }
            tokio::time::sleep(Duration::from_millis(OPEN_RETRY_MS)).await;
        }
    }

    fn elect(&self, child: Arc<Shard>) {
        let parent = self.shared.context.map.parent(child.id());
        if let Some(parent) = parent.and_then(|parent| self.shared.shards.get(parent)) {
            let stop = self.shared.context.stop.clone();
            let stands = first_election::stand(parent, child);
            tokio::spawn(stop.run_until_cancelled_owned(stands));
        }
    }
}

/// What was opened.
#[derive(Default)]
pub(crate) struct Opened {
    pub(crate) shards: Vec<Arc<Shard>>,
    /// Nothing is left to open.
    pub(crate) is_all: bool,
}

/// Opens all shards that are missing, their children too.
pub(crate) async fn open_missing(
    engine: &Engine,
    shared: &NodeShared,
) -> Result<Opened, GroupError> {
    let mut opened = Opened::default();
    loop {
        let known = shared.context.map.all().1.into_iter();
        let missing: Vec<u64> = known
            .map(|(shard, _)| shard)
            .filter(|shard| shared.shards.get(*shard).is_none())
            .collect();
        opened.is_all = missing.is_empty();
        let before = opened.shards.len();
        for shard in missing {
            if let Some(shard) = open_child(engine, shared, shard).await? {
                shared.shards.insert(Arc::clone(&shard));
                opened.shards.push(shard);
            }
        }
        if opened.is_all || opened.shards.len() == before {
            return Ok(opened);
        }
    }
}

/// Opens one; `None`: its parent's rows do not name it now.
async fn open_child(
    engine: &Engine,
    shared: &NodeShared,
    child: u64,
) -> Result<Option<Arc<Shard>>, GroupError> {
    let context = &shared.context;
    let parent = context.map.parent(child);
    let is_named = move |view: &StateView<'_>| {
        let split =
            |parent| Machine::stored_split(&ViewRows(view), ShardId(parent), ShardId(child));
        parent.is_some_and(|parent| split(parent).unwrap_or(false))
    };
    let own = parent.and_then(|parent| shared.shards.get(parent));
    let own = own.map_or(context.replica, |parent| parent.group().replica());
    let found = engine.create_child(child, own, is_named).await?;
    let newborn = context.map.take_newborn(child);
    let machine = match found {
        ChildGroup::Created => newborn,
        ChildGroup::Existed => None,
        ChildGroup::Elsewhere => {
            engine.create_replica(child, own).await?;
            None
        }
        ChildGroup::Unfounded | ChildGroup::Removed => return Ok(None),
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
