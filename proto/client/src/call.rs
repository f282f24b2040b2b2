//! One call to a shard: whom it asks, in which order, how long it waits for each, and when it gives up.
//!
//! The known leader is asked first, then the shard's replicas by the map, and hints are followed. Who does not have the shard says
//! who has; where none of the replicas helps, the map may be old, and is read again. A process that keeps silent is still listened to while others are
//! asked, so that a slow leader costs nothing and a paused one no more than one patience. While nobody leads, all calls of
//! a router together ask once a turn (case L23), and after a while they fail at once.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{Future, StreamExt};
use tokio::time::Instant;

use crate::limits::{
    ELECTION_PAUSE_MS, LEADER_HOPS, OPEN_TRIES, QUORUM_LOST_MS, SHARD_REPLICAS, SUSPECT_ATTEMPT_MS,
};
use crate::peers::{Known, most_are_down};
use crate::request_id;
use crate::retry::between;
use crate::shard_state::ShardState;
use crate::{CallError, Frontier, Router, RouterError};

/// What kind of call it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// How long it asks the shard to wait for something, ms.
    pub(crate) wait_ms: u64,
    /// Only a leader answers it.
    pub(crate) by_leader: bool,
}

impl Kind {
    /// Answered by a leader, without a wait.
    pub(crate) const LED: Self = Self {
        wait_ms: 0,
        by_leader: true,
    };
    /// Answered by any replica.
    pub(crate) const LOCAL: Self = Self {
        wait_ms: 0,
        by_leader: false,
    };
}

type Answer<R> = (Arc<Known>, Result<R, CallError>);
type Try<R> = Pin<Box<dyn Future<Output = Answer<R>> + Send>>;

/// What comes next.
enum Next<R> {
    End(Result<R, CallError>),
    Ask(Arc<Known>),
    /// Listen for so long, then look for somebody to ask.
    Pause(Duration),
}

/// A call under way.
struct Call<'a, R, F> {
    router: &'a Router,
    shard: u64,
    kind: Kind,
    state: Arc<ShardState>,
    send: F,
    id: Arc<str>,
    deadline: Instant,
    /// When somebody last named a leader that may answer.
    leader_heard: Instant,
    open: FuturesUnordered<Try<R>>,
    /// The peers of `open`.
    asked: Vec<Arc<Known>>,
    /// What each peer that did not help said last, by its name.
    said: BTreeMap<String, String>,
    /// A leader was named that did not help before.
    hinted: Option<Arc<Known>>,
    hops: usize,
    /// Peers that do not have the shard, or not what is asked of it.
    strangers: BTreeSet<String>,
    /// Those who have it by what strangers said.
    named: Vec<Arc<Known>>,
    /// The map is being read again, since nobody helps.
    look_up: Option<BoxFuture<'a, Result<(), RouterError>>>,
    retry_after_ms: u64,
}

impl Router {
    /// Makes a call within the time that the options give to one.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        shard: u64,
        kind: Kind,
        send: impl Fn(Arc<dyn Frontier>) -> BoxFuture<'static, Result<R, CallError>> + Send + Sync,
    ) -> Result<R, CallError> {
        let whole = Duration::from_millis(self.options.call_ms.saturating_add(kind.wait_ms));
        self.call_until(shard, kind, Instant::now() + whole, send)
            .await
    }

    /// Makes a call before a deadline. Safe for calls that may be repeated blindly, which all are.
    pub(crate) async fn call_until<R: Send + 'static>(
        &self,
        shard: u64,
        kind: Kind,
        deadline: Instant,
        send: impl Fn(Arc<dyn Frontier>) -> BoxFuture<'static, Result<R, CallError>> + Send + Sync,
    ) -> Result<R, CallError> {
        let state = self.shard_state(shard);
        if kind.by_leader {
            state.check()?;
        }
        let call = Call {
            router: self,
            shard,
            kind,
            state,
            send,
            id: self.ids.next(),
            deadline,
            leader_heard: Instant::now(),
            open: FuturesUnordered::new(),
            asked: Vec::new(),
            said: BTreeMap::new(),
            hinted: None,
            hops: 0,
            strangers: BTreeSet::new(),
            named: Vec::new(),
            look_up: None,
            retry_after_ms: 0,
        };
        Box::pin(call.run()).await
    }
}

impl<R, F> Call<'_, R, F>
where
    R: Send + 'static,
    F: Fn(Arc<dyn Frontier>) -> BoxFuture<'static, Result<R, CallError>> + Send + Sync,
{
    async fn run(mut self) -> Result<R, CallError> {
        let mut next = self.look();
        loop {
            next = match next {
                Next::End(result) => return result,
                Next::Ask(peer) => {
                    let until = Instant::now() + self.ask(&peer);
                    self.listen(until, Some(peer)).await
                }
                Next::Pause(pause) => self.listen(Instant::now() + pause, None).await,
            };
        }
    }

    /// Sends a try; how long to wait for it before others are asked as well.
    fn ask(&mut self, peer: &Arc<Known>) -> Duration {
        if self.open.len() >= OPEN_TRIES {
            self.open.clear();
            self.asked.clear();
        }
        let call = request_id::under(
            Arc::clone(&self.id),
            (self.send)(Arc::clone(&peer.frontier)),
        );
        let whom = Arc::clone(peer);
        self.open.push(Box::pin(async move { (whom, call.await) }));
        self.asked.push(Arc::clone(peer));
        self.patience(peer)
    }

    fn patience(&self, peer: &Known) -> Duration {
        let attempt_ms = self.router.options.attempt_ms;
        if peer.health.suspect_until().is_some() {
            return Duration::from_millis(SUSPECT_ATTEMPT_MS.min(attempt_ms));
        }
        Duration::from_millis(attempt_ms.saturating_add(self.kind.wait_ms))
    }

    /// Waits for an answer of anybody asked, until the patience with `newest` is over, or the pause if there is none.
    async fn listen(&mut self, until: Instant, newest: Option<Arc<Known>>) -> Next<R> {
        let state = Arc::clone(&self.state);
        let found = state.found();
        let news = newest.is_none();
        if news && self.fresh_leader().is_some() {
            return self.look();
        }
        tokio::select! {
            biased;
            Some((peer, result)) = self.open.next() => {
                self.asked.retain(|asked| !Arc::ptr_eq(asked, &peer));
                self.judge(&peer, result).await
            }
            result = async { self.look_up.as_mut()?.await.err() }, if self.look_up.is_some() => {
                self.look_up = None;
                if let Some(error) = result {
                    tracing::warn!(%error, "cannot refresh the shard map");
                }
                self.look()
            }
            () = found, if news => match self.fresh_leader() {
                Some(_) => self.look(),
                None => Next::Pause(until.saturating_duration_since(Instant::now())),
            },
            () = tokio::time::sleep_until(until.min(self.deadline)) => {
                if let Some(peer) = newest {
                    self.silent(&peer);
                }
                self.look()
            }
        }
    }

    /// A leader that this call has not tried yet.
    fn fresh_leader(&self) -> Option<Arc<Known>> {
        self.state
            .leader()
            .filter(|leader| !self.is_asked(leader) && !self.said.contains_key(leader.name()))
    }

    fn is_asked(&self, peer: &Arc<Known>) -> bool {
        self.asked.iter().any(|asked| Arc::ptr_eq(asked, peer))
    }

    /// Whom to ask now, if anybody.
    fn look(&mut self) -> Next<R> {
        let now = Instant::now();
        if let Some(result) = self.over(now) {
            return Next::End(result);
        }
        self.look_up(now);
        if let Some(leader) = self.state.leader().filter(|leader| !self.is_asked(leader)) {
            return Next::Ask(leader);
        }
        let peers = self.replicas();
        if let [only] = peers.as_slice()
            && self.hinted.is_none()
            && !self.is_asked(only)
        {
            return Next::Ask(Arc::clone(only));
        }
        let turn = match self.state.take_turn(now) {
            Ok(turn) => turn,
            Err(next) => return Next::Pause(next.saturating_duration_since(now)),
        };
        if let Some(hinted) = self.hinted.take().filter(|hinted| !self.is_asked(hinted)) {
            return Next::Ask(hinted);
        }
        let free: Vec<_> = peers.iter().filter(|peer| !self.is_asked(peer)).collect();
        let well = free
            .iter()
            .filter(|peer| peer.health.suspect_until().is_none());
        let well: Vec<_> = well.collect();
        match (well.len(), free.first()) {
            (0, None) => Next::Pause(election_pause()),
            (0, Some(first)) => Next::Ask(Arc::clone(first)),
            (count, _) => Next::Ask(Arc::clone(well[turn % count])),
        }
    }

    /// Those who may have the shard, best asked first: by the map and by what others said. If all of those have said that they
    /// have it not, anybody may.
    fn replicas(&self) -> Vec<Arc<Known>> {
        let mut peers = self.router.replicas(self.shard);
        let is_new = |peer: &&Arc<Known>| !peers.iter().any(|known| Arc::ptr_eq(known, peer));
        let named: Vec<_> = self.named.iter().filter(is_new).cloned().collect();
        peers.extend(named);
        peers.retain(|peer| !self.strangers.contains(peer.name()));
        if peers.is_empty() {
            peers = self.router.peers.by_health();
        }
        peers
    }

    /// Reads the map again where all replicas were asked in vain: they may have been replaced.
    fn look_up(&mut self, now: Instant) {
        if self.look_up.is_none()
            && !self.said.is_empty()
            && !self.router.table().replicas(self.shard).is_empty()
            && self.is_everybody_ruled_out()
            && self.router.may_look_up(now)
        {
            self.look_up = Some(Box::pin(self.router.catch_up()));
        }
    }

    async fn judge(&mut self, peer: &Arc<Known>, result: Result<R, CallError>) -> Next<R> {
        let error = match result {
            Ok(answer) => {
                peer.health.answered();
                if self.kind.by_leader {
                    self.state.led_by(peer);
                }
                return Next::End(Ok(answer));
            }
            Err(error) => error,
        };
        match error {
            CallError::NotLeader { leader_address } => {
                peer.health.answered();
                self.no_help(peer, "does not lead it");
                self.follow(&leader_address)
            }
            CallError::WrongShard { map_version } => {
                peer.health.answered();
                self.no_help(peer, "does not have it");
                let again = !self.strangers.insert(peer.name().to_owned());
                self.stranger(map_version, again).await
            }
            CallError::NotHere {
                map_version,
                replica_addresses,
            } => {
                peer.health.answered();
                self.no_help(peer, "does not have it");
                self.elsewhere(peer, map_version, &replica_addresses).await
            }
            CallError::Unavailable {
                reason,
                retry_after_ms,
            } if !self.is_alone(peer) => {
                let again = self.no_help(peer, &reason);
                self.retry_after_ms = self.retry_after_ms.max(retry_after_ms);
                if again {
                    Next::Pause(election_pause().max(Duration::from_millis(retry_after_ms)))
                } else {
                    self.look()
                }
            }
            error => Next::End(Err(error)),
        }
    }

    /// There is nobody but this process.
    fn is_alone(&self, peer: &Known) -> bool {
        peer.address.is_empty() && self.router.peers.len() == 1
    }

    /// Notes that a peer did not help; whether it did not before.
    fn no_help(&mut self, peer: &Arc<Known>, why: &str) -> bool {
        if self.state.not_led_by(peer) {
            self.router.traffic.leader_lost();
        }
        tracing::debug!(
            shard = self.shard,
            request_id = &*self.id,
            peer = peer.name(),
            why,
            "no help"
        );
        self.said
            .insert(peer.name().to_owned(), why.to_owned())
            .is_some()
    }

    fn silent(&mut self, peer: &Arc<Known>) {
        peer.health.failed();
        let why = format!("no answer in {} ms", self.patience(peer).as_millis());
        self.no_help(peer, &why);
    }

    /// Goes where a hint says, unless that was in vain before: then after a pause.
    fn follow(&mut self, address: &str) -> Next<R> {
        let Some(leader) = self.router.peers.at(address) else {
            return self
                .pause_alone()
                .unwrap_or_else(|| Next::Pause(election_pause()));
        };
        if !leader.health.is_down() || self.is_asked(&leader) {
            self.leader_heard = Instant::now();
        }
        if self.is_asked(&leader) {
            return Next::Pause(election_pause());
        }
        let is_tried = self.said.contains_key(leader.name());
        if is_tried || leader.health.suspect_until().is_some() || self.hops >= LEADER_HOPS {
            self.hops = 0;
            self.hinted = Some(leader);
            return Next::Pause(election_pause());
        }
        self.hops += 1;
        self.state.said_to_be_led_by(&leader);
        Next::Ask(leader)
    }

    /// Nothing is gained by waiting when there is nobody but this process: its caller decides.
    fn pause_alone(&self) -> Option<Next<R>> {
        let peers = self.router.peers.all();
        let [only] = peers.as_slice() else {
            return None;
        };
        self.is_alone(only).then(|| {
            Next::End(Err(CallError::NotLeader {
                leader_address: String::new(),
            }))
        })
    }

    /// A peer says that others have the shard: they are asked. They may lag behind it, so it may be asked again later.
    async fn elsewhere(
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
        let replicas = self.router.replicas(self.shard);
        let mut all = replicas.iter().chain(&self.named);
        if is_new && !all.all(|replica| self.strangers.contains(replica.name())) {
            return self.look();
        }
        self.strangers.clear();
        Next::Pause(election_pause())
    }

    /// A peer does not have the shard: its map is newer than ours, or it is none of the shard's replicas. Or it has it, and what
    /// is asked went to a child: then nobody else has it either, and the caller asks the child.
    async fn stranger(&mut self, map_version: u64, again: bool) -> Next<R> {
        let before = self.router.table();
        if map_version > before.version
            && let Err(error) = self.router.catch_up().await
        {
            tracing::warn!(%error, "cannot refresh the shard map");
        }
        let after = self.router.table();
        let peers = self.router.replicas(self.shard);
        let answering = peers.iter().filter(|peer| !peer.health.is_down()).count();
        let is_gone = after.entry(self.shard).is_none();
        let is_split = after.is_part_of(self.shard, &before);
        if is_gone || is_split || again || self.strangers.len() >= answering {
            let map_version = map_version.max(self.router.map_version());
            return Next::End(Err(CallError::WrongShard { map_version }));
        }
        Next::Pause(Duration::ZERO)
    }

    /// The error of a call that has taken too long.
    fn over(&self, now: Instant) -> Option<Result<R, CallError>> {
        let is_leaderless = self.is_leaderless(now);
        if now < self.deadline && !is_leaderless {
            return None;
        }
        let reason = self.reason();
        if is_leaderless && self.kind.by_leader && self.state.died(reason.clone()) {
            tracing::warn!(
                shard = self.shard,
                reason,
                "the shard is given up for a while"
            );
            self.router.traffic.shard_died();
        }
        Some(Err(CallError::Unavailable {
            reason,
            retry_after_ms: self.retry_after_ms,
        }))
    }

    /// Nobody has named a leader for so long that none will come soon. Somebody silent may still be one: then longer. So
    /// may somebody who was not asked yet, on whichever call's turn.
    fn is_leaderless(&self, now: Instant) -> bool {
        let longest_ms = self.router.options.leaderless_ms;
        let unheard = now.saturating_duration_since(self.leader_heard);
        let is_over = |limit_ms| unheard >= Duration::from_millis(limit_ms);
        if !is_over(longest_ms.min(QUORUM_LOST_MS)) {
            return false;
        }
        let replicas = self.router.replicas(self.shard);
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

    fn is_everybody_ruled_out(&self) -> bool {
        let replicas = self.router.replicas(self.shard);
        let mut replicas = replicas.iter();
        replicas.all(|peer| peer.health.is_down() || self.state.is_ruled_out(peer))
    }

    fn reason(&self) -> String {
        let mut reason = format!("shard {}: no leader known", self.shard);
        for peer in self.router.replicas(self.shard) {
            let why = match self.said.get(peer.name()) {
                Some(why) => why,
                None if peer.health.is_down() => "unreachable",
                None => continue,
            };
            reason.push_str("; ");
            reason.push_str(peer.name());
            reason.push_str(": ");
            reason.push_str(why);
        }
        reason
    }
}

fn election_pause() -> Duration {
    Duration::from_millis(between(ELECTION_PAUSE_MS.0, ELECTION_PAUSE_MS.1))
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "places_tests.rs"]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod places_tests;
