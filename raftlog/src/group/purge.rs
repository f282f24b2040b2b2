//! Purging a group's log: after flushes, below what is flushed, down to what may be kept.
//!
//! A leader keeps more, within bounds, for followers that live but are slow, and for replicas that are fed a snapshot:
//! whoever finds the log purged needs a snapshot, which costs far more than the entries.

use std::time::Duration;

use openraft::LogIdOptionExt;
use tokio::time::Instant;

use super::membership::progress;
use super::slot::Running;
use crate::fault::Rule;
use crate::limits::{LIVE_FOLLOWER_MS, TRANSFER_HOLD_FACTOR};
use crate::raft_types::index_of;
use crate::status::Progress;

/// How long to wait for openraft to take note of a flush. It is asked again after the next.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a harness that switched the rule off wants purges that no flush asked for.
const UNASKED: Duration = Duration::from_millis(100);

/// Purges when it is due, for as long as the instance lives. A request that openraft loses (it drops one that comes
/// while another is under way) is made again after the next flush, and at least once in a flush interval.
pub(super) async fn maintain(running: Running) {
    let mut led_since = None;
    loop {
        if running.instance.shared.is_off(Rule::PurgeBelowFlush) {
            tokio::time::sleep(UNASKED).await;
        } else {
            running.instance.after_flush.notified().await;
        }
        if let Some(target) = target(&running, &mut led_since) {
            purge(&running, target).await;
        }
    }
}

/// A term in which this replica leads, and when that was noticed here.
type LedSince = Option<(u64, Instant)>;

/// The index to purge up to, if there is anything to purge.
fn target(running: &Running, led_since: &mut LedSince) -> Option<u64> {
    let instance = &running.instance;
    let options = &instance.shared.options;
    let flushed = instance.purgeable().log_id?.index;
    // What may be purged if so many times the log of a live follower is kept.
    let held = |times: u64| {
        let entries = options.log_hold_entries.saturating_mul(times);
        let size_bytes = options.log_hold_size_bytes.saturating_mul(times);
        running.log.purge_target(flushed, entries, size_bytes)
    };
    let (keep_entries, keep_bytes) = (options.log_keep_entries, options.log_keep_size_bytes);
    let wanted = running
        .log
        .purge_target(flushed, keep_entries, keep_bytes)?;
    let progress = progress(running, instance.replica);
    let patience_ms = if is_new_leader(running, led_since) {
        u64::MAX
    } else {
        LIVE_FOLLOWER_MS
    };
    let is_live = |known: &Progress| known.silent_ms.unwrap_or(LIVE_FOLLOWER_MS) < patience_ms;
    let live = progress.values().filter(|known| is_live(known));
    let followers = live.map(|known| known.matched_index).min();
    let allowed = held(1).unwrap_or(0);
    let transfers = instance.transfers.needed(&progress, allowed, is_live);
    let for_followers = followers.map(|needed| needed.max(allowed));
    let for_transfers = transfers.map(|needed| needed.max(held(TRANSFER_HOLD_FACTOR).unwrap_or(0)));
    let target = [for_followers, for_transfers]
        .into_iter()
        .flatten()
        .fold(wanted, u64::min);
    (target > index_of(&running.log.numbers().purged)).then_some(target)
}

/// Whether this replica has led for so short a time that its followers need not have answered yet.
fn is_new_leader(running: &Running, led_since: &mut LedSince) -> bool {
    let term = running.leading_term();
    if led_since.map(|(term, _)| term) != term {
        *led_since = term.map(|term| (term, Instant::now()));
    }
    led_since.is_some_and(|(_, since)| since.elapsed() < Duration::from_millis(LIVE_FOLLOWER_MS))
}

async fn purge(running: &Running, target: u64) {
    // openraft purges only what a snapshot covers, and here a flush is a snapshot.
    if running.raft.trigger().snapshot().await.is_err() {
        return;
    }
    let noted = running.raft.wait(Some(PATIENCE));
    let noted = noted
        .metrics(
            |metrics| metrics.snapshot.index() >= Some(target),
            "flush noted",
        )
        .await;
    if noted.is_ok() {
        let _ended = running.raft.trigger().purge_log(target).await;
        // Whoever is sent what is to go is given up, or openraft would not purge it.
        running.instance.purge_due.send_replace(target);
    }
}
