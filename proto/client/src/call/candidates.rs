//! Whom a call may ask: the shard's replicas by the map, those that others named, and what it does when none of them helps.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{Call, Next, election_pause};
use crate::limits::{QUORUM_LOST_MS, SHARD_REPLICAS};
use crate::peers::{Known, most_are_down};
use crate::{CallError, Frontier};

impl<R, F> Call<'_, R, F>
where
    R: Send + 'static,
    F: Fn(Arc<dyn Frontier>) -> BoxFuture<'static, Result<R, CallError>> + Send + Sync,
{
    /// Those who have the shard by the map, best asked first, and by what others said.
    pub(super) fn replicas(&self) -> Vec<Arc<Known>> {
        let mut peers = self.router.replicas(self.shard);
        let is_new = |peer: &&Arc<Known>| !peers.iter().any(|known| Arc::ptr_eq(known, peer));
        let named: Vec<_> = self.named.iter().filter(is_new).cloned().collect();
        peers.extend(named);
        peers
    }

    /// Those of them who have not said that they have it not. If all have, anybody may have it.
    pub(super) fn candidates(&self) -> Vec<Arc<Known>> {
        let mut peers = self.replicas();
        peers.retain(|peer| !self.strangers.contains(peer.name()));
        if peers.is_empty() {
            peers = self.router.peers.by_health();
        }
        peers
    }

    /// Reads the map again where all replicas were asked in vain: they may have been replaced.
    pub(super) fn look_up(&mut self, now: Instant) {
        if self.look_up.is_none()
            && !self.said.is_empty()
            && !self.router.table().replicas(self.shard).is_empty()
            && self.is_everybody_ruled_out()
            && self.router.may_look_up(now)
        {
            self.look_up = Some(Box::pin(self.router.catch_up()));
        }
    }

    /// A peer says that others have the shard: they are asked. They may lag behind it, so it may be asked again later.
    pub(super) async fn elsewhere(
        &mut self,
        peer: &Arc<Known>,
        map_version: u64,
        addresses: &[String],
    ) -> Next<R> {
        if map_version > self.router.map_version()
            && let Err(error) = self.router.catch_up().await
        {
            tracing::warn!(%error, "cannot refresh the shard map");
        }
        let named = addresses.iter().take(SHARD_REPLICAS);
        self.named = named.filter_map(|at| self.router.peers.at(at)).collect();
        let is_new = self.strangers.insert(peer.name().to_owned());
        let mut all = self.replicas().into_iter();
        if is_new && !all.all(|replica| self.strangers.contains(replica.name())) {
            return self.look();
        }
        self.strangers.clear();
        Next::Pause(election_pause())
    }

    /// A peer does not have the shard: its map is newer than ours, or it is none of the shard's replicas. Or it has it, and what
    /// is asked went to a child: then nobody else has it either, and the caller asks the child.
    pub(super) async fn stranger(&mut self, map_version: u64, again: bool) -> Next<R> {
        let before = self.router.table();
        if map_version > before.version
            && let Err(error) = self.router.catch_up().await
        {
            tracing::warn!(%error, "cannot refresh the shard map");
        }
        let after = self.router.table();
        let peers = self.replicas();
        let answering = peers.iter().filter(|peer| !peer.health.is_down()).count();
        let is_gone = after.entry(self.shard).is_none();
        let is_split = after.is_part_of(self.shard, &before);
        if is_gone || is_split || again || self.strangers.len() >= answering {
            let map_version = map_version.max(self.router.map_version());
            return Next::End(Err(CallError::WrongShard { map_version }));
        }
        Next::Pause(Duration::ZERO)
    }

    /// Nobody has named a leader for so long that none will come soon. Somebody silent may still be one: then longer. So
    /// may somebody who was not asked yet, on whichever call's turn.
    pub(super) fn is_leaderless(&self, now: Instant) -> bool {
        let longest_ms = self.router.options.leaderless_ms;
        let unheard = now.saturating_duration_since(self.leader_heard);
        let is_over = |limit_ms| unheard >= Duration::from_millis(limit_ms);
        if !is_over(longest_ms.min(QUORUM_LOST_MS)) {
            return false;
        }
        let replicas = self.replicas();
        let (is_quiet, most_are_down) = (
            self.asked.is_empty(),
            most_are_down(&replicas) && replicas.len() > 1,
        );
        let limit_ms = match (is_quiet, most_are_down) {
            (true, true) => longest_ms.min(QUORUM_LOST_MS),
            (true, false) | (false, true) => longest_ms,
            (false, false) => return false,
        };
        is_over(limit_ms) && self.is_everybody_ruled_out()
    }

    pub(super) fn is_everybody_ruled_out(&self) -> bool {
        let replicas = self.replicas();
        let mut replicas = replicas.iter();
        replicas.all(|peer| peer.health.is_down() || self.state.is_ruled_out(peer))
    }
}
