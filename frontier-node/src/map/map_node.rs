//! The map as this node's services use it: read its copy, change it wherever its leader is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use raftlog::{Engine, GroupError, NodeId, process_of};
use shard_map::{Accepted, Command, GROUP_ZERO};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::asking::{ask_for_change, places_of_leader};
use super::copying::{self, Copying};
use super::known_nodes::KnownNodes;
use super::map_cell::{MapCell, MapView};
use super::map_group::{MapError, MapGroup};
use super::options::{IsLinked, MapOptions};
use super::own_replica::OwnReplica;
use super::remote::Remote;
use super::rules::ShapeRules;
use super::shaper::Shaper;
use super::upkeep::Upkeep;
use crate::cluster::{AddressBook, Greeter, node_number};
use crate::identity::{Descriptor, FoundingVoters};
use crate::limits::{CHANGE_PAUSE_MS, CHANGE_WITHIN_MS};

/// What it is made of.
pub(crate) struct MapParts {
    pub(crate) engine: Arc<Engine>,
    /// This process: the node on its present disk.
    pub(crate) process: NodeId,
    pub(crate) descriptor: Descriptor,
    pub(crate) voters: Arc<FoundingVoters>,
    pub(crate) book: Arc<AddressBook>,
}

/// This node's copy of the map, its replica of group 0 where it has one, and the way to the leader.
pub(crate) struct MapNode {
    parts: MapParts,
    greeter: Arc<Greeter>,
    is_linked: IsLinked,
    copy: Arc<MapCell>,
    shaper: Arc<dyn Shaper>,
    rules: ShapeRules,
    not_founded: parking_lot::Mutex<String>,
    /// The node that leads each group, as this one found while it leads group 0; empty else.
    leading: parking_lot::Mutex<BTreeMap<u64, u32>>,
    zero: watch::Sender<Option<OpenZero>>,
    stop: CancellationToken,
}

/// A replica of group 0, and what ends the task that drives its jobs.
#[derive(Clone)]
struct OpenZero {
    group: Arc<MapGroup>,
    upkeep: CancellationToken,
}

impl MapNode {
    /// Opens this node's replica of group 0, or founds it where this node is one of its first voters, and follows the map
    /// from then on; all of it ends with `stop`.
    pub(crate) async fn start(
        parts: MapParts,
        options: MapOptions,
        stop: &CancellationToken,
    ) -> Result<Arc<Self>, GroupError> {
        let shaper = options.shaper.unwrap_or_else(|| {
            Arc::new(Remote::new(
                Arc::clone(&options.greeter),
                Arc::clone(&parts.book),
                parts.descriptor.cluster_id,
            ))
        });
        let node = Arc::new(Self {
            parts,
            greeter: options.greeter,
            is_linked: options.is_linked,
            copy: options.copy,
            shaper,
            rules: options.rules,
            not_founded: parking_lot::Mutex::default(),
            leading: parking_lot::Mutex::default(),
            zero: watch::Sender::new(None),
            stop: stop.clone(),
        });
        node.open_zero().await?;
        let copying = Copying {
            greeter: Arc::clone(&node.greeter),
            cluster_id: node.parts.descriptor.cluster_id,
            cell: Arc::clone(&node.copy),
        };
        let known_nodes = KnownNodes {
            book: Arc::clone(&node.parts.book),
            own: node_number(node.parts.process),
            views: node.views(),
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(copying.run()));
        tokio::spawn(stop.clone().run_until_cancelled_owned(known_nodes.run()));
        #[cfg(test)]
        if options.keeps_zero {
            return Ok(node);
        }
        let own_replica = OwnReplica(Arc::clone(&node));
        tokio::spawn(stop.clone().run_until_cancelled_owned(own_replica.run()));
        Ok(node)
    }

    async fn open_zero(self: &Arc<Self>) -> Result<(), GroupError> {
        let (engine, copy) = (&self.parts.engine, Arc::clone(&self.copy));
        let voters = self.parts.voters.of_group(GROUP_ZERO);
        let is_there = engine.created_groups().await?.contains(&GROUP_ZERO);
        let zero = if is_there {
            Some(MapGroup::open(engine, copy).await?)
        } else if voters.contains(&self.parts.process) {
            MapGroup::found(engine, voters, copy).await?
        } else {
            None
        };
        if let Some(zero) = zero {
            self.take_zero(zero);
        }
        self.look_for_quorum();
        Ok(())
    }

    /// Drives its jobs whenever it leads.
    fn take_zero(self: &Arc<Self>, zero: MapGroup) {
        let open = OpenZero {
            group: Arc::new(zero),
            upkeep: self.stop.child_token(),
        };
        let upkeep = Upkeep::new(Arc::clone(self), Arc::clone(&open.group));
        tokio::spawn(open.upkeep.clone().run_until_cancelled_owned(upkeep.run()));
        self.zero.send_replace(Some(open));
    }

    /// Makes a replica of group 0 that the map names, and opens it.
    pub(super) async fn join_zero(self: &Arc<Self>, replica: NodeId) -> Result<(), GroupError> {
        let zero = MapGroup::join(&self.parts.engine, replica, Arc::clone(&self.copy)).await?;
        self.take_zero(zero);
        Ok(())
    }

    /// Removes this node's replica of group 0 for good. May be tried again.
    pub(super) async fn close_zero(&self, replica: NodeId) -> Result<(), GroupError> {
        if let Some(open) = &*self.zero.borrow() {
            open.upkeep.cancel();
        }
        self.parts.engine.remove_group(GROUP_ZERO, replica).await?;
        self.zero.send_replace(None);
        Ok(())
    }

    /// This node's replica of group 0; it comes and goes.
    pub(crate) fn zero(&self) -> Option<Arc<MapGroup>> {
        self.zero
            .borrow()
            .as_ref()
            .map(|open| Arc::clone(&open.group))
    }

    /// This node's copy.
    pub(crate) fn view(&self) -> MapView {
        let mut view = self.copy.view();
        if view.applied_index == 0
            && let Some(zero) = self.zero()
        {
            // Before its first entry an instance knows no index; the log does.
            view.applied_index = zero.group().status().applied_index;
        }
        view
    }

    /// Each version of the map that this node hears of; versions only rise.
    pub(crate) fn views(&self) -> watch::Receiver<MapView> {
        self.copy.watch()
    }

    /// The node on its present disk: what its replicas' ids have in common.
    pub(crate) const fn process(&self) -> NodeId {
        self.parts.process
    }

    pub(crate) const fn descriptor(&self) -> &Descriptor {
        &self.parts.descriptor
    }

    pub(crate) fn book(&self) -> &AddressBook {
        &self.parts.book
    }

    pub(crate) fn shaper(&self) -> &dyn Shaper {
        self.shaper.as_ref()
    }

    pub(super) fn shared_shaper(&self) -> Arc<dyn Shaper> {
        Arc::clone(&self.shaper)
    }

    /// The node that leads each group, groups that are not here too; empty unless this node leads group 0.
    pub(crate) fn leading(&self) -> BTreeMap<u64, u32> {
        self.leading.lock().clone()
    }

    pub(super) fn set_leading(&self, leading: BTreeMap<u64, u32>) {
        *self.leading.lock() = leading;
    }

    pub(super) const fn rules(&self) -> &ShapeRules {
        &self.rules
    }

    /// Whether this node has an open link to a replica's process, or is it.
    pub(crate) fn is_linked(&self, replica: NodeId) -> bool {
        let process = process_of(replica);
        process == self.parts.process || (self.is_linked)(process)
    }

    /// The founding voters of group 0 are the founders' first disks: if most of them were lost before there was a group
    /// 0, it has no quorum.
    fn look_for_quorum(&self) {
        let voters = self.parts.voters.of_group(GROUP_ZERO);
        let entries = self.parts.book.entries().into_iter();
        let is_first = |node: u32| voters.iter().any(|voter| node_number(*voter) == node);
        let lost = entries.filter(|e| e.incarnation > 0 && is_first(e.node));
        if voters.len().saturating_sub(lost.count()) * 2 > voters.len() || self.is_founded() {
            return;
        }
        let reason = "most founding nodes had lost their first disk before there was a group 0: it has no quorum";
        // Without a replica of group 0 this node knows no map yet, and others may have one.
        if self.set_not_founded(reason) && self.zero().is_some() {
            tracing::warn!(reason, "the shape of this cluster stays as it is");
        }
    }

    fn is_founded(&self) -> bool {
        self.copy.version() > 0
    }

    /// Why there is no map yet, as far as this node knows; empty: there is, or it is not known.
    pub(crate) fn not_founded(&self) -> String {
        if self.is_founded() {
            return String::new();
        }
        self.not_founded.lock().clone()
    }

    /// Says why there is no map yet. True if that is news.
    pub(super) fn set_not_founded(&self, reason: &str) -> bool {
        let mut known = self.not_founded.lock();
        let is_news = *known != reason;
        reason.clone_into(&mut known);
        is_news
    }

    /// Applies a command wherever group 0 is led, tried again while nobody leads or the outcome is unknown.
    ///
    /// So a command must be one that may be sent twice.
    ///
    /// # Errors
    ///
    /// See [`MapError`].
    pub(crate) async fn change(&self, command: &Command) -> Result<Accepted, MapError> {
        let until = Instant::now() + Duration::from_millis(CHANGE_WITHIN_MS);
        loop {
            let error = match self.try_change(command).await {
                Ok(accepted) => return Ok(accepted),
                Err(error @ (MapError::Refused(_) | MapError::TooLarge(_))) => return Err(error),
                Err(error) => error,
            };
            if Instant::now() >= until {
                return Err(error);
            }
            tokio::time::sleep(Duration::from_millis(CHANGE_PAUSE_MS)).await;
        }
    }

    /// The newest map among those of the nodes that replicate group 0: what this node's own copy does not know is no refusal.
    ///
    /// # Errors
    ///
    /// None of them answers.
    pub(crate) async fn newest(&self) -> Result<MapView, MapError> {
        let leads = self.zero().is_some_and(|zero| zero.leadership().is_leader);
        if leads {
            return Ok(self.view());
        }
        let places = self.places_of_map();
        let cluster_id = self.parts.descriptor.cluster_id;
        let fetch = |place: &String| {
            let (greeter, copy, place) = (&self.greeter, &self.copy, place.clone());
            async move { copying::fetch(greeter, cluster_id, &place, copy).await }
        };
        let answers = join_all(places.iter().map(fetch)).await;
        if answers.iter().any(Result::is_ok) {
            return Ok(self.view());
        }
        let failed = answers.into_iter().find_map(Result::err);
        let reason = failed.map_or_else(
            || "nobody is known who has it".to_owned(),
            |status| status.message().to_owned(),
        );
        Err(MapError::Unavailable(format!("the newest map: {reason}")))
    }

    /// Other nodes that lead group 0, replicate it, or may know who does: the likeliest first.
    fn places_of_map(&self) -> Vec<String> {
        let own = self.parts.book.address_of(self.parts.process);
        let mut places = vec![self.leader_address()];
        places.extend(places_of_leader(&self.copy.view().map));
        if !self.is_founded() {
            let entries = self.parts.book.entries().into_iter();
            places.extend(entries.map(|entry| entry.address));
        }
        let mut asked = BTreeSet::new();
        places.retain(|place| {
            !place.is_empty() && Some(place) != own.as_ref() && asked.insert(place.clone())
        });
        places
    }

    async fn try_change(&self, command: &Command) -> Result<Accepted, MapError> {
        if let Some(zero) = self.zero()
            && let Some(token) = zero.leadership().token()
        {
            return zero.propose(token, command).await;
        }
        let places = self.places_of_map();
        let cluster_id = self.parts.descriptor.cluster_id;
        ask_for_change(&self.greeter, cluster_id, places, command).await
    }

    /// host:port of who leads group 0, as far as this node's own replica knows; else of another node that has one, if the map
    /// names any.
    pub(crate) fn leader_address(&self) -> String {
        let leader = self.zero().and_then(|zero| zero.leadership().leader);
        let address = leader.and_then(|leader| self.parts.book.address_of(leader));
        address.unwrap_or_else(|| self.place_of_another())
    }

    fn place_of_another(&self) -> String {
        let map = self.copy.view().map;
        let own = node_number(self.parts.process);
        let mut voters = map.group_zero.voters().map(shard_map::Replica::node);
        let other = voters.find(|node| *node != own);
        let other = other.and_then(|node| map.node(node));
        other.map(|node| node.address.clone()).unwrap_or_default()
    }
}
