//! The map as this node's services use it: read its copy, change it wherever its leader is.

use std::sync::Arc;
use std::time::Duration;

use proto::raft_v1 as pb;
use raftlog::NodeId;
use shard_map::{Accepted, Command};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use super::map_cell::MapView;
use super::map_group::{MapError, MapGroup};
use super::options::{IsLinked, MapOptions};
use super::remote::Remote;
use super::rules::ShapeRules;
use super::shaper::Shaper;
use super::upkeep::Upkeep;
use super::verdict;
use crate::cluster::{AddressBook, Greeter};
use crate::identity::Descriptor;
use crate::limits::{CHANGE_PAUSE_MS, CHANGE_WITHIN_MS};

/// What it is made of.
pub(crate) struct MapParts {
    pub(crate) zero: MapGroup,
    pub(crate) replica: NodeId,
    pub(crate) descriptor: Descriptor,
    pub(crate) book: Arc<AddressBook>,
}

/// Group 0 and the way to its leader.
pub(crate) struct MapNode {
    parts: MapParts,
    greeter: Arc<Greeter>,
    is_linked: IsLinked,
    shaper: Arc<dyn Shaper>,
    rules: ShapeRules,
    not_founded: parking_lot::Mutex<String>,
}

impl MapNode {
    /// Starts what the leader does unasked; it ends with `stop`.
    pub(crate) fn start(
        parts: MapParts,
        options: MapOptions,
        stop: &CancellationToken,
    ) -> Arc<Self> {
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
            shaper,
            rules: options.rules,
            not_founded: parking_lot::Mutex::default(),
        });
        node.look_for_quorum();
        let upkeep = Upkeep::new(Arc::clone(&node));
        tokio::spawn(stop.clone().run_until_cancelled_owned(upkeep.run()));
        node
    }

    pub(crate) const fn zero(&self) -> &MapGroup {
        &self.parts.zero
    }

    /// The newest version of the map that this node has heard of.
    pub(crate) fn view(&self) -> MapView {
        self.parts.zero.view()
    }

    /// Each version of the map that this node hears of; versions only rise.
    pub(crate) fn views(&self) -> watch::Receiver<MapView> {
        self.parts.zero.watch()
    }

    pub(crate) const fn replica(&self) -> NodeId {
        self.parts.replica
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

    pub(super) const fn rules(&self) -> &ShapeRules {
        &self.rules
    }

    /// Whether this node has an open link to a replica's process, or is it.
    pub(crate) fn is_linked(&self, replica: NodeId) -> bool {
        replica == self.parts.replica || (self.is_linked)(replica)
    }

    /// The founding voters of group 0 are the founders' first disks: if most of them were lost before there was a group
    /// 0, it has no quorum.
    fn look_for_quorum(&self) {
        let founders = &self.parts.descriptor.founders;
        let entries = self.parts.book.entries().into_iter();
        let lost = entries.filter(|e| e.incarnation > 0 && founders.contains(&e.node));
        if founders.len().saturating_sub(lost.count()) * 2 > founders.len()
            || self.parts.zero.is_founded()
        {
            return;
        }
        let reason = "most founding nodes had lost their first disk before there was a group 0: it has no quorum";
        if self.set_not_founded(reason) {
            tracing::warn!(reason, "the shape of this cluster stays as it is");
        }
    }

    /// Why there is no map yet, as far as this node knows; empty: there is, or it is not known.
    pub(crate) fn not_founded(&self) -> String {
        if self.parts.zero.is_founded() {
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

    async fn try_change(&self, command: &Command) -> Result<Accepted, MapError> {
        let leadership = self.parts.zero.leadership();
        if let Some(token) = leadership.token() {
            return self.parts.zero.propose(token, command).await;
        }
        let away = |words: &str| MapError::Unavailable(words.to_owned());
        let leader = leadership.leader.ok_or_else(|| away("it has no leader"))?;
        let address = self.parts.book.address_of(leader);
        let address = address.ok_or_else(|| away("it is not known where its leader is"))?;
        let request = pb::ChangeMapRequest {
            cluster_id: self.parts.descriptor.cluster_id,
            command: command.to_bytes().into(),
        };
        let answer = self.greeter.change_map(&address, request).await;
        let verdict = answer.map_err(|status| error_of(&status))?;
        verdict::from_wire(verdict)
            .ok_or_else(|| away("the answer makes no sense"))?
            .map_err(MapError::Refused)
    }
}

/// What another node's status says.
fn error_of(status: &Status) -> MapError {
    match status.code() {
        Code::FailedPrecondition => MapError::NotLeader(None),
        _ => MapError::Unavailable(status.message().to_owned()),
    }
}
