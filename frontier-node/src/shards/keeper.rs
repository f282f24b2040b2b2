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
use super::opening::{Late, missing_children, open_child, open_placed};
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
    /// What was said last of shards that are not what they should be.
    said: BTreeMap<u64, String>,
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
            said: BTreeMap::new(),
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
            let retry = !self.round(&map).await;
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

    /// Does all that can be done now; whether that is all. What fails with one shard keeps no other from it.
    async fn round(&mut self, map: &ShardMap) -> bool {
        loop {
            let mut is_all = self.open_children().await;
            is_all &= self.remove_leaving().await;
            is_all &= self.open_placed(map).await;
            if !self.retire(map) {
                return is_all;
            }
        }
    }

    /// Opens what replicas here have seeded; whether that is all.
    async fn open_children(&mut self) -> bool {
        let late = self.late();
        let mut is_all = true;
        let mut untried = missing_children(&self.shared, &self.leaving);
        while let Some(child) = untried.pop_first() {
            match open_child(&self.engine, &self.shared, child, late).await {
                Ok(Some(open)) => {
                    self.start(Arc::clone(&open));
                    self.elect(open);
                    // It may have children of its own.
                    untried = missing_children(&self.shared, &self.leaving);
                }
                Ok(None) => {}
                Err(error) => is_all = self.failed(child.0, &error),
            }
        }
        is_all
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
    async fn open_placed(&mut self, map: &ShardMap) -> bool {
        let mut is_all = true;
        for (shard, replica) in wanted(map, self.shared.context.replica) {
            if self.shared.shards.get(shard).is_some() || self.leaving.contains_key(&shard) {
                continue;
            }
            match open_placed(&self.engine, &self.shared, shard, replica).await {
                Ok(Some(open)) => self.start(open),
                Ok(None) => is_all = false,
                // The copy of the map is from before the removal.
                Err(GroupError::Removed { .. }) => {}
                Err(error) => is_all = self.failed(shard, &error),
            }
        }
        is_all
    }

    /// False, and said once as long as it is the same.
    fn failed(&mut self, shard: u64, error: &GroupError) -> bool {
        let reason = error.to_string();
        if self.said.insert(shard, reason.clone()).as_ref() != Some(&reason) {
            tracing::error!(
                shard,
                reason,
                "the replica is not what it should be here; it is tried again"
            );
        }
        false
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

    /// Removes what is not used any more, for good; whether that is all.
    async fn remove_leaving(&mut self) -> bool {
        for (shard, replica) in self.leaving.clone() {
            if let Err(error) = self.engine.remove_group(shard, replica).await {
                self.failed(shard, &error);
                continue;
            }
            // Its last instance may have said that it is here, and made the filter's entry anew.
            self.shared.context.map.left(shard);
            self.shared.context.filter.invalidate(shard);
            self.leaving.remove(&shard);
            self.said.remove(&shard);
            tracing::info!(shard, replica, "a replica is removed for good");
        }
        self.leaving.is_empty()
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
