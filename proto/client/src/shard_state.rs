//! What callers know together of one shard: who leads it, whose turn it is to look for a leader, whether it is dead.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::CallError;
use crate::limits::{DEAD_MS, SEARCH_TURN_MS};
use crate::peers::Known;
use crate::window::Window;

/// One shard, as all calls of a router see it.
pub(crate) struct ShardState {
    inner: Mutex<Inner>,
    /// A leader became known.
    found: Notify,
    /// Of offers.
    pub(crate) window: Window,
}

#[derive(Default)]
struct Inner {
    leader: Option<Arc<Known>>,
    next_turn: Option<Instant>,
    /// Which peer is asked next by those who look for a leader.
    cursor: usize,
    /// Names of the peers that did not help since one last answered as the leader.
    no_help: BTreeSet<String>,
    dead: Option<Dead>,
}

/// Nobody led it for too long.
struct Dead {
    /// Calls fail at once before; the first one after it tries.
    until: Instant,
    pause_ms: u64,
    reason: String,
}

impl ShardState {
    fn new(concurrency: usize) -> Self {
        Self {
            inner: Mutex::default(),
            found: Notify::new(),
            window: Window::new(concurrency),
        }
    }

    pub(crate) fn leader(&self) -> Option<Arc<Known>> {
        self.inner.lock().leader.clone()
    }

    /// This peer answered as the leader.
    pub(crate) fn led_by(&self, peer: &Arc<Known>) {
        let mut inner = self.inner.lock();
        inner.dead = None;
        inner.no_help.clear();
        if !is_led_by(&inner, peer) {
            inner.leader = Some(Arc::clone(peer));
            drop(inner);
            self.found.notify_waiters();
        }
    }

    /// Somebody says that this peer leads.
    pub(crate) fn said_to_be_led_by(&self, peer: &Arc<Known>) {
        let mut inner = self.inner.lock();
        if inner.leader.is_none() {
            inner.leader = Some(Arc::clone(peer));
            drop(inner);
            self.found.notify_waiters();
        }
    }

    /// This peer does not lead, or does not answer. Returns whether it was taken for the leader.
    pub(crate) fn not_led_by(&self, peer: &Arc<Known>) -> bool {
        let mut inner = self.inner.lock();
        inner.no_help.insert(peer.name().to_owned());
        let was = is_led_by(&inner, peer);
        if was {
            inner.leader = None;
        }
        was
    }

    /// Whether this peer was asked in vain since one last answered as the leader.
    pub(crate) fn is_ruled_out(&self, peer: &Known) -> bool {
        self.inner.lock().no_help.contains(peer.name())
    }

    /// Completes when a leader becomes known.
    pub(crate) fn found(&self) -> tokio::sync::futures::Notified<'_> {
        self.found.notified()
    }

    /// Takes the turn to ask somebody for the leader, if it is free now: its number. Else when the next one is. However
    /// many calls wait for a leader, the shard's nodes are asked no more often than one turn allows.
    pub(crate) fn take_turn(&self, now: Instant) -> Result<usize, Instant> {
        let mut inner = self.inner.lock();
        match inner.next_turn {
            Some(next) if next > now => Err(next),
            _ => {
                inner.next_turn = Some(now + Duration::from_millis(SEARCH_TURN_MS));
                let turn = inner.cursor;
                inner.cursor = turn.wrapping_add(1);
                Ok(turn)
            }
        }
    }

    /// Fails while the shard is known to be dead; now and then lets one call through to see.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        let mut inner = self.inner.lock();
        let Some(dead) = &mut inner.dead else {
            return Ok(());
        };
        let now = Instant::now();
        if now >= dead.until {
            dead.until = now + Duration::from_millis(dead.pause_ms);
            return Ok(());
        }
        let left = dead.until.saturating_duration_since(now);
        Err(CallError::Unavailable {
            reason: dead.reason.clone(),
            retry_after_ms: u64::try_from(left.as_millis()).unwrap_or(0).max(1),
        })
    }

    /// Whether nobody led it for too long.
    pub(crate) fn is_dead(&self) -> bool {
        self.inner.lock().dead.is_some()
    }

    /// Nobody led it for too long: calls fail at once for a while, longer each time in a row. Returns whether that is new.
    pub(crate) fn died(&self, reason: String) -> bool {
        let mut inner = self.inner.lock();
        let pause_ms = inner
            .dead
            .as_ref()
            .map_or(DEAD_MS.0, |dead| (dead.pause_ms * 2).min(DEAD_MS.1));
        let is_new = inner.dead.is_none();
        inner.dead = Some(Dead {
            until: Instant::now() + Duration::from_millis(pause_ms),
            pause_ms,
            reason,
        });
        is_new
    }
}

fn is_led_by(inner: &Inner, peer: &Arc<Known>) -> bool {
    inner
        .leader
        .as_ref()
        .is_some_and(|leader| Arc::ptr_eq(leader, peer))
}

/// The states of all shards of the map.
#[derive(Default)]
pub(crate) struct ShardStates(Mutex<HashMap<u64, Arc<ShardState>>>);

impl ShardStates {
    /// The state of a shard; one that is in no map is not kept, so that wrong numbers cost no memory.
    pub(crate) fn of(&self, shard: u64, in_map: bool, concurrency: usize) -> Arc<ShardState> {
        let mut states = self.0.lock();
        if let Some(state) = states.get(&shard) {
            return Arc::clone(state);
        }
        let state = Arc::new(ShardState::new(concurrency));
        if in_map {
            states.insert(shard, Arc::clone(&state));
        }
        state
    }

    /// Forgets all but these shards.
    pub(crate) fn keep(&self, is_there: impl Fn(u64) -> bool) {
        self.0.lock().retain(|shard, _| is_there(*shard));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::peers::Peers;
    use futures::FutureExt;

    fn two() -> (Arc<Known>, Arc<Known>) {
        let peers = Peers::new(Vec::new(), Arc::default());
        (
            peers.at("127.0.0.1:1").unwrap(),
            peers.at("127.0.0.1:2").unwrap(),
        )
    }

    #[tokio::test]
    async fn only_the_leader_itself_is_forgotten() {
        let state = ShardState::new(4);
        let (a, b) = two();
        let found = state.found();
        state.said_to_be_led_by(&a);
        assert!(found.now_or_never().is_some());
        state.said_to_be_led_by(&b);
        assert_eq!(state.leader().unwrap().address, "127.0.0.1:1");
        state.led_by(&b);
        assert!(!state.not_led_by(&a) && state.leader().is_some());
        assert!(state.not_led_by(&b) && state.leader().is_none());
    }

    #[tokio::test]
    async fn a_leader_ends_what_is_known_of_those_who_did_not_help() {
        let state = ShardState::new(4);
        let (a, b) = two();
        state.not_led_by(&a);
        assert!(state.is_ruled_out(&a) && !state.is_ruled_out(&b));
        state.led_by(&b);
        assert!(!state.is_ruled_out(&a));
    }

    /// case L23: however many ask, a turn comes only so often.
    #[tokio::test]
    async fn turns_are_apart() {
        let state = ShardState::new(4);
        let now = Instant::now();
        let turn = state.take_turn(now).unwrap();
        let next = state.take_turn(now).unwrap_err();
        assert_eq!(next, now + Duration::from_millis(SEARCH_TURN_MS));
        assert_eq!(state.take_turn(next).unwrap(), turn + 1);
    }

    #[tokio::test]
    async fn a_dead_shard_fails_at_once_and_an_answer_brings_it_back() {
        let state = ShardState::new(4);
        assert!(state.check().is_ok());
        assert!(state.died("shard 1: no leader".into()));
        assert!(!state.died("shard 1: no leader".into()) && state.is_dead());
        let error = state.check().unwrap_err();
        assert!(
            matches!(&error, CallError::Unavailable { reason, retry_after_ms }
                if reason == "shard 1: no leader" && *retry_after_ms > 0),
            "{error}"
        );
        state.led_by(&two().0);
        assert!(state.check().is_ok() && !state.is_dead());
    }
}
