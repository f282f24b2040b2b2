//! Keeps this node's replicas what its own rows and the map say: opens children of splits, makes the replicas that the map gives
//! it, removes those that the map took away.
//!
//! The map decides, a step of a move at a time, so that there is nothing to agree on here: whoever drives a move waits until this
//! node shows what the map says. A node without a map keeps what it has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use client::Router;
use raftlog::{Engine, GroupError, NodeId};
use shard_map::ShardMap;
use tokio::sync::watch;

use super::first_election;
use super::opening::{Late, open_children, open_placed};
use super::places::{is_retired, wanted};
use crate::limits::OPEN_RETRY_MS;
use crate::map::{MapNode, MapView};
use crate::outbox::OutboxTask;
use crate::service::NodeShared;
use crate::shard::Shard;

/// See the head of this file.
pub(crate) struct Keeper {
    engine: Arc<Engine>,
    shared: Arc<NodeShared>,
    router: Arc<Router>,
    map: Option<Arc<MapNode>>,
    views: Option<watch::Receiver<MapView>>,
    /// Replicas that are not used any more, and not removed yet.
    leaving: BTreeMap<u64, NodeId>,
}

impl Keeper {
    pub(crate) fn new(
        engine: Arc<Engine>,
        shared: Arc<NodeShared>,
        router: Arc<Router>,
        map: Option<Arc<MapNode>>,
        views: Option<watch::Receiver<MapView>>,
    ) -> Self {
        Self {
            engine,
            shared,
            router,
            map,
            views,
            leaving: BTreeMap::new(),
        }
    }

    /// Starts what an open shard does unasked.
    pub(crate) fn start(&self, shard: Arc<Shard>) {
        let (stop, metrics) = (shard.stop(), Arc::clone(&self.shared.context.metrics));
        let outbox = OutboxTask::new(shard, Arc::clone(&self.router), metrics);
        tokio::spawn(stop.run_until_cancelled_owned(outbox.run()));
    }

    /// Follows the map, and what the replicas here say of it, until the node stops.
    pub(crate) async fn run(mut self) {
        loop {
            let map = self.newest_map();
            let retry = match self.round(&map).await {
                Ok(is_all) => !is_all,
                Err(error) => {
                    tracing::error!(%error, "this node's replicas are not what they should be; it is tried again");
                    true
                }
            };
            let views = self.views.as_mut();
            tokio::select! {
                () = self.shared.context.map.news() => {}
                () = changed(views) => {}
                () = tokio::time::sleep(Duration::from_millis(OPEN_RETRY_MS)), if retry => {}
            }
        }
    }

    fn newest_map(&mut self) -> Arc<ShardMap> {
        let view = self
            .views
            .as_mut()
            .map(|views| views.borrow_and_update().clone());
        let map = view.unwrap_or_default().map;
        self.shared.context.map.follow(&map);
        map
    }

    /// Does all that can be done now; whether that is all.
    async fn round(&mut self, map: &ShardMap) -> Result<bool, GroupError> {
        loop {
            self.open_children().await?;
            self.remove_leaving().await?;
            let is_all = self.open_placed(map).await?;
            if !self.retire(map) {
                return Ok(is_all);
            }
        }
    }

    async fn open_children(&self) -> Result<(), GroupError> {
        let late = self.late();
        let opened = open_children(&self.engine, &self.shared, late, &self.leaving);
        for shard in opened.await? {
            self.start(Arc::clone(&shard));
            self.elect(shard);
        }
        Ok(())
    }

    /// Who makes children's replicas that came past this node: the map, where there is one or will be.
    fn late(&self) -> Late {
        let is_never = |map: &Arc<MapNode>| !map.not_founded().is_empty();
        match self.views {
            Some(_) if !self.map.as_ref().is_some_and(is_never) => Late::ByMap,
            _ => Late::ByParent,
        }
    }

    fn elect(&self, child: Arc<Shard>) {
        let parent = self.shared.context.map.parent(child.id());
        if let Some(parent) = parent.and_then(|parent| self.shared.shards.get(parent)) {
            let stop = child.stop();
            let stands = first_election::stand(parent, child);
            tokio::spawn(stop.run_until_cancelled_owned(stands));
        }
    }

    /// Makes what the map gives this node; whether that is all.
    async fn open_placed(&self, map: &ShardMap) -> Result<bool, GroupError> {
        let mut is_all = true;
        for (shard, replica) in wanted(map, self.shared.context.replica) {
            if self.shared.shards.get(shard).is_some() || self.leaving.contains_key(&shard) {
                continue;
            }
            match open_placed(&self.engine, &self.shared, shard, replica).await? {
                Some(open) => self.start(open),
                None => is_all = false,
            }
        }
        Ok(is_all)
    }

    /// Takes what the map retired out of use; whether anything was.
    fn retire(&mut self, map: &ShardMap) -> bool {
        let before = self.leaving.len();
        for shard in self.shared.shards.all() {
            let (id, replica) = (shard.id(), shard.replica());
            if is_retired(map, id, replica) {
                tracing::info!(shard = id, replica, "the map took this replica away");
                self.shared.shards.remove(id);
                shard.retire();
                self.leaving.insert(id, replica);
            }
        }
        self.leaving.len() > before
    }

    /// Removes what is not used any more, for good.
    async fn remove_leaving(&mut self) -> Result<(), GroupError> {
        while let Some((shard, replica)) = self.leaving.first_key_value() {
            let (shard, replica) = (*shard, *replica);
            self.engine.remove_group(shard, replica).await?;
            // Its last instance may have said that it is here, and made the filter's entry anew.
            self.shared.context.map.left(shard);
            self.shared.context.filter.invalidate(shard);
            self.leaving.remove(&shard);
            tracing::info!(shard, replica, "a replica is removed for good");
        }
        Ok(())
    }
}

async fn changed(views: Option<&mut watch::Receiver<MapView>>) {
    let changed = match views {
        Some(views) => views.changed().await.is_ok(),
        None => false,
    };
    if !changed {
        std::future::pending().await
    }
}
