//! A child's first leader is its parent's: it stands at once, so that hosts do not wait for an election timeout.
//!
//! Safe whatever is wrong about that: it only starts an election, and Raft decides.

use std::sync::Arc;
use std::time::Duration;

use crate::limits::FIRST_ELECTION_PAUSE_MS;
use crate::shard::Shard;

/// Stands until the child has a leader, while this replica leads the parent; then timeouts decide. The other replicas open the
/// child when they hear that the split is committed, and until then they cannot vote.
pub(super) async fn stand(parent: Arc<Shard>, child: Arc<Shard>) {
    let (first_ms, longest_ms) = FIRST_ELECTION_PAUSE_MS;
    let mut leadership = child.group().leadership();
    let mut pause_ms = first_ms;
    while pause_ms <= longest_ms && parent.leading().is_ok() {
        if let Err(error) = child.group().trigger_election().await {
            tracing::debug!(shard = child.id(), %error, "could not stand for the first election");
        }
        let led = leadership.wait_for(|now| now.leader.is_some());
        if tokio::time::timeout(Duration::from_millis(pause_ms), led)
            .await
            .is_ok()
        {
            return;
        }
        pause_ms *= 2;
    }
}
