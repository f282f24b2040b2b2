//! The one task of a shard that stamps and submits entries, fenced to its leadership.
//!
//! Stamps are made here only, in the order in which entries are submitted, so they never run ahead of real time within a
//! log. A submit under a leadership that ended is refused by the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use machine::{Command, Entry};
use prost::Message;
use raftlog::{Leadership, LeadershipToken, ProposeError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::call::Call;
use super::gather::{Gathering, Waiter};
use super::hand_over::hand_over;
use super::pump::{self, Submitted};
use super::shard::Shared;
use crate::clock::{NewestStamp, ShardClock};
use crate::limits::{ENTRIES_IN_FLIGHT, GIVE_WAY_PAUSE_MS, TICK_INTERVAL_MS, TICK_PAUSE_MS};
use crate::state::Published;

/// The leadership that this replica holds, with its clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leading {
    pub(crate) token: LeadershipToken,
    pub(crate) clock: ShardClock,
}

pub(super) struct Task {
    shared: Arc<Shared>,
    queue: mpsc::Receiver<Call>,
    submitted: mpsc::Sender<Submitted>,
    leadership: watch::Receiver<Leadership>,
    published: watch::Receiver<Published>,
    places: Arc<Semaphore>,
    leading: Option<Leading>,
    gathering: Gathering,
    ticks: Ticks,
    /// When leadership was last offered to others because of a full disk.
    gave_way: Option<Instant>,
    /// The shard's epoch when it was last looked at.
    epoch: Option<u64>,
}

/// When the last entry and the last tick were, and what was due then.
struct Ticks {
    last_entry: Instant,
    last_tick: Instant,
    pause: Duration,
    due_then: Option<(Option<u64>, Option<u64>)>,
}

impl Ticks {
    /// When a tick may be tried again, also after one that found no place among the entries under way.
    fn again_at(&self) -> Instant {
        self.last_tick + self.pause
    }

    /// When a leader with future work has been silent for too long.
    fn silent_at(&self) -> Instant {
        (self.last_entry + Duration::from_millis(TICK_INTERVAL_MS)).max(self.again_at())
    }
}

impl Task {
    pub(super) fn new(
        shared: Arc<Shared>,
        queue: mpsc::Receiver<Call>,
        submitted: mpsc::Sender<Submitted>,
    ) -> Self {
        let now = shared.context.clocks.now();
        let pause = Duration::from_millis(TICK_PAUSE_MS);
        Self {
            leadership: shared.group.leadership(),
            published: shared.parts.cell.published(),
            places: Arc::new(Semaphore::new(ENTRIES_IN_FLIGHT)),
            leading: None,
            gathering: Gathering::default(),
            ticks: Ticks {
                last_entry: now,
                last_tick: now,
                pause,
                due_then: None,
            },
            gave_way: None,
            epoch: shared.parts.cell.extent().map(|extent| extent.epoch),
            shared,
            queue,
            submitted,
        }
    }

    /// Runs until the shard is dropped or its group ends.
    pub(super) async fn run(mut self) {
        loop {
            self.follow_leadership();
            let pause = self.next_pause();
            let places = Arc::clone(&self.places);
            let shared = Arc::clone(&self.shared);
            tokio::select! {
                biased;
                () = shared.context.stop.cancelled() => break,
                changed = self.leadership.changed() => if changed.is_err() { break },
                place = places.acquire_owned(), if !self.gathering.is_empty() => {
                    if let Ok(place) = place {
                        self.submit_calls(place).await;
                    }
                }
                call = self.queue.recv(), if self.gathering.is_empty() => match call {
                    Some(call) => self.gathering.push(call),
                    None => break,
                },
                changed = self.published.changed() => {
                    if changed.is_err() { break }
                    self.follow_time();
                    self.notice_split();
                    self.wake_polls();
                }
                () = shared.parking.released() => self.wake_polls(),
                () = tokio::time::sleep(pause) => self.on_time().await,
            }
        }
        self.lose_leadership();
    }

    fn follow_leadership(&mut self) {
        let token = self.leadership.borrow_and_update().token();
        if token == self.leading.map(|leading| leading.token) {
            return;
        }
        self.lose_leadership();
        let Some(token) = token else { return };
        let now = self.shared.context.clocks.now();
        let applied_ms = self.published.borrow().now_ms;
        let clock = ShardClock::elected(now, applied_ms, newest_stamp(&self.shared));
        let leading = Leading { token, clock };
        self.leading = Some(leading);
        *self.shared.leading.write() = Some(leading);
        self.shared.context.metrics.elections.inc();
        tracing::info!(
            shard = self.shared.parts.shard,
            term = token.term(),
            "leading"
        );
        tokio::spawn(prove(Arc::clone(&self.shared), token));
    }

    fn lose_leadership(&mut self) {
        if self.leading.take().is_some() {
            *self.shared.leading.write() = None;
            self.shared.parking.end_all();
        }
    }

    async fn submit_calls(&mut self, place: OwnedSemaphorePermit) {
        self.gathering.fill(&mut self.queue);
        let (commands, waiters) = self.gathering.take();
        if !commands.is_empty() {
            self.submit(commands, waiters, place).await;
        }
    }

    async fn submit(
        &mut self,
        commands: Vec<Command>,
        waiters: Vec<Waiter>,
        place: OwnedSemaphorePermit,
    ) {
        let shared = Arc::clone(&self.shared);
        let Some(leading) = self.leading else {
            let leader = self.leadership.borrow().leader;
            return pump::refuse(waiters, &shared.context.hints.not_leader(leader));
        };
        let stamped = shared.context.clocks.now();
        let entry = Entry {
            now_ms: leading.clock.stamp_ms(stamped),
            wall_unix_ms: shared.context.clocks.wall_unix_ms(),
            commands,
        };
        self.ticks.last_entry = stamped;
        let payload = bytes::Bytes::from(entry.encode_to_vec());
        shared
            .context
            .metrics
            .entry(entry.commands.len(), payload.len());
        shared.parts.board.expect();
        match shared.group.submit(leading.token, payload).await {
            Ok(pending) => {
                // Never full: there are as many slots as places.
                let _ = self
                    .submitted
                    .send(Submitted {
                        pending,
                        stamped,
                        waiters,
                        _place: place,
                    })
                    .await;
            }
            Err(error) => {
                if matches!(error, ProposeError::DiskFull(_)) {
                    self.give_way();
                }
                shared.parts.board.end(None);
                pump::fail(waiters, &error, &shared.context.hints);
            }
        }
    }

    /// A full disk takes no entry: another replica's may. Tried now and then, since theirs may be full too.
    fn give_way(&mut self) {
        let now = self.shared.context.clocks.now();
        let pause = Duration::from_millis(GIVE_WAY_PAUSE_MS);
        if self
            .gave_way
            .is_some_and(|at| now.saturating_duration_since(at) < pause)
        {
            return;
        }
        self.gave_way = Some(now);
        if self.shared.group.status().voters.len() < 2 {
            return;
        }
        tracing::warn!(
            shard = self.shared.parts.shard,
            "the disk is full: leadership is offered to another replica"
        );
        let handed = hand_over(self.shared.group.clone());
        tokio::spawn(tokio::time::timeout(pause, handed));
    }

    /// A restore begins at its backup's time: stamps go on from there, for shard time would stand still until they reach it.
    fn follow_time(&mut self) {
        let Some(leading) = &mut self.leading else {
            return;
        };
        let now = self.shared.context.clocks.now();
        let applied_ms = self.published.borrow().now_ms;
        if applied_ms > leading.clock.stamp_ms(now) {
            leading.clock = ShardClock::elected(now, applied_ms, None);
            *self.shared.leading.write() = Some(*leading);
        }
    }

    /// Whoever waits hears of a split at once: its hosts may be the child's, and nothing here would ever wake it for them.
    fn notice_split(&mut self) {
        let epoch = self.published.borrow().extent.map(|extent| extent.epoch);
        if epoch != self.epoch {
            if self.epoch.is_some() {
                self.shared.parking.end_for_split();
            }
            self.epoch = epoch;
        }
    }

    fn wake_polls(&self) {
        if let Some(leading) = self.leading {
            let now = self.shared.context.clocks.now();
            let ready = ready_hosts(&self.published.borrow(), &leading.clock, now);
            self.shared.parking.wake(ready, now);
        }
    }

    /// Something became due, or a leader with future work was silent for long.
    async fn on_time(&mut self) {
        let Some(leading) = self.leading else { return };
        self.wake_polls();
        let now = self.shared.context.clocks.now();
        let published = self.published.borrow().clone();
        let is_due = published
            .next_due_ms
            .is_some_and(|due| due <= leading.clock.stamp_ms(now))
            || published
                .next_wall_unix_ms
                .is_some_and(|due| due <= self.shared.context.clocks.wall_unix_ms());
        let silent = has_future_work(&published) && now >= self.ticks.silent_at();
        if silent || (is_due && now >= self.ticks.again_at()) {
            self.tick(now, &published).await;
        }
    }

    /// The empty entry, unless others are under way that do the same.
    async fn tick(&mut self, now: Instant, published: &Published) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.ticks.last_tick = now;
            return;
        };
        // What is due stays so after a tick only when something is wrong: then ticks get rare instead of busy.
        let due = (published.next_due_ms, published.next_wall_unix_ms);
        let stuck = self.ticks.due_then.replace(due) == Some(due);
        let shortest = Duration::from_millis(TICK_PAUSE_MS);
        let longest = Duration::from_millis(TICK_INTERVAL_MS);
        self.ticks.pause = if stuck {
            (self.ticks.pause * 2).min(longest)
        } else {
            shortest
        };
        self.ticks.last_tick = now;
        self.shared.context.metrics.ticks.inc();
        self.submit(Vec::new(), Vec::new(), place).await;
    }

    /// How long there is nothing to do unasked.
    fn next_pause(&self) -> Duration {
        let now = self.shared.context.clocks.now();
        let longest = Duration::from_millis(TICK_INTERVAL_MS);
        let mut wake_at = now + longest;
        let Some(leading) = self.leading else {
            return longest;
        };
        let published = self.published.borrow();
        let tick_from = self.ticks.again_at();
        if let Some(due_ms) = published.next_due_ms {
            wake_at = wake_at.min(leading.clock.when(due_ms, now, longest).max(tick_from));
        }
        if let Some(due_ms) = published.next_wall_unix_ms {
            let wait_ms = due_ms.saturating_sub(self.shared.context.clocks.wall_unix_ms());
            wake_at =
                wake_at.min((now + Duration::from_millis(wait_ms).min(longest)).max(tick_from));
        }
        if has_future_work(&published) {
            wake_at = wake_at.min(self.ticks.silent_at()).max(now);
        }
        if self.shared.parking.len() > 0 {
            // A past time needs no alarm: whoever is parked then waits for a claim to come back.
            let ready_at = published
                .next_ready_ms
                .map(|ready_ms| leading.clock.when(ready_ms, now, longest));
            wake_at = wake_at.min(ready_at.filter(|at| *at > now).unwrap_or(wake_at));
            wake_at = wake_at.min(self.shared.parking.held_until(now).unwrap_or(wake_at));
        }
        wake_at.saturating_duration_since(now)
    }
}

/// How many hosts may be leased at a moment, as far as is known: those of the last entry, or at least one when time
/// made another ready since.
pub(super) fn ready_hosts(published: &Published, clock: &ShardClock, now: Instant) -> u64 {
    let ready: u64 = published.ready.by_class.iter().sum();
    let due = published
        .next_ready_ms
        .is_some_and(|ready_ms| ready_ms <= clock.stamp_ms(now));
    if due { ready.max(1) } else { ready }
}

fn has_future_work(published: &Published) -> bool {
    published.next_ready_ms.is_some()
        || published.next_due_ms.is_some()
        || published.next_wall_unix_ms.is_some()
}

/// The last stamped entry of this replica's log. One that does not decode stops the shard when it is applied.
fn newest_stamp(shared: &Shared) -> Option<NewestStamp> {
    let last = shared.group.last_received()?;
    let entry = Entry::decode(last.payload.as_ref()).ok()?;
    Some(NewestStamp {
        now_ms: entry.now_ms,
        received: last.received,
    })
}

/// Known URLs may be dropped only after an entry of this leadership's own term was applied: a proof of leadership waits
/// for exactly that.
async fn prove(shared: Arc<Shared>, token: LeadershipToken) {
    let still_leading = || {
        shared
            .leading
            .read()
            .is_some_and(|leading| leading.token == token)
    };
    while still_leading() {
        match shared.group.confirm_leadership().await {
            Ok(confirmed) if confirmed.term == token.term() && still_leading() => {
                return shared.proven_term.store(token.term(), Ordering::Release);
            }
            Ok(_) => return,
            Err(error) => {
                tracing::debug!(shard = shared.parts.shard, %error, "leadership is not proven yet")
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leader that was suspended while its entries found no quorum: no place is free, and its last entry is hours ago.
    #[test]
    fn a_tick_that_finds_no_place_is_tried_again_after_a_pause() {
        let start = Instant::now();
        let woken = start + Duration::from_secs(50_000);
        let mut ticks = Ticks {
            last_entry: start,
            last_tick: start,
            pause: Duration::from_millis(TICK_PAUSE_MS),
            due_then: None,
        };
        assert!(ticks.silent_at() <= woken);
        ticks.last_tick = woken;
        assert_eq!(
            ticks.silent_at(),
            woken + Duration::from_millis(TICK_PAUSE_MS)
        );
    }
}
