//! Purging a group's log: after flushes, below what is flushed, down to what may be kept.

use std::time::Duration;

use openraft::LogIdOptionExt;

use super::slot::Running;

/// How long to wait for openraft to take note of a flush. It is asked again after the next.
const PATIENCE: Duration = Duration::from_secs(10);

/// Purges when it is due, for as long as the instance lives. A request that openraft loses (it drops one that comes
/// while another is under way) is made again after the next flush, and at least once in a flush interval.
pub(super) async fn maintain(running: Running) {
    loop {
        running.instance.after_flush.notified().await;
        if let Some(target) = target(&running) {
            purge(&running, target).await;
        }
    }
}

fn target(running: &Running) -> Option<u64> {
    let options = &running.instance.shared.options;
    let flushed = running.instance.purgeable().log_id?.index;
    running.log.purge_target(
        flushed,
        options.log_keep_entries,
        options.log_keep_size_bytes,
    )
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
    }
}
