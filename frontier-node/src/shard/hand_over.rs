//! Giving a leadership away: to the voter that has most, before a stop, or when the disk is full.

use std::time::Duration;

use raftlog::Group;

use crate::limits::HAND_OVER_RETRY_MS;

/// Asks the furthest other voter to take over until somebody else leads. A group of one keeps its leader.
pub(crate) async fn hand_over(group: Group) {
    let me = group.replica();
    let mut leadership = group.leadership();
    loop {
        let progress = group.progress().into_iter();
        let furthest = progress
            .filter(|(replica, progress)| *replica != me && progress.is_voter)
            .max_by_key(|(_, progress)| progress.matched_index);
        let Some((target, _)) = furthest else { return };
        if let Err(error) = group.transfer_leader(target).await {
            tracing::debug!(shard = group.group_id(), target, %error, "not handed over yet");
        }
        let lost = leadership.wait_for(|now| !now.is_leader);
        if tokio::time::timeout(Duration::from_millis(HAND_OVER_RETRY_MS), lost)
            .await
            .is_ok()
        {
            return;
        }
    }
}
