//! The leader's process is dead: a chosen follower takes over at once, the next one a moment later.
//!
//! Nobody listens any more where the leader was, so there is nothing to wait for. Safe whatever is wrong about that: it
//! only starts an election, and Raft decides.

use std::sync::Arc;
use std::time::Duration;

use raftlog::{Group, Leadership, NodeId, process_of};
use tokio::sync::broadcast;

use crate::limits::{TAKEOVER_AGAIN_MS, TAKEOVER_PATIENCE_MS, TAKEOVER_STEP_MS, TAKEOVER_TRIES};
use crate::node::FrontierNode;

/// Starts elections in the groups that a replica of a refused process led, until the sender is gone.
pub async fn take_over(node: Arc<FrontierNode>, mut refused: broadcast::Receiver<NodeId>) {
    loop {
        let dead = match refused.recv().await {
            Ok(dead) => dead,
            Err(broadcast::error::RecvError::Lagged(_)) => continue,
            Err(broadcast::error::RecvError::Closed) => return,
        };
        for group in node.groups() {
            let leader = group.leadership().borrow().leader;
            if leader.map(process_of) == Some(dead) {
                tokio::spawn(elect_in_turn(group, dead));
            }
        }
    }
}

/// Waits for this replica's turn, then stands for election, unless somebody else does by then; again when nobody won.
async fn elect_in_turn(group: Group, dead: NodeId) {
    let mut leadership = group.leadership();
    for _ in 0..TAKEOVER_TRIES {
        let Some(turn) = turn_of(&group, dead) else {
            return;
        };
        let term = leadership.borrow_and_update().term;
        // A vote for another candidate raises the term.
        let wait = Duration::from_millis(TAKEOVER_STEP_MS * turn);
        let overtaken = leadership.wait_for(|now| now.term > term || is_led(now, dead));
        let is_overtaken = tokio::time::timeout(wait, overtaken).await.is_ok();
        let now = *leadership.borrow();
        if is_led(&now, dead) {
            return;
        }
        if !is_overtaken && now.term == term {
            // Twice: a voter with a shorter log that stood before has voted for itself in the term that the first try
            // takes, and grants the next one.
            for _ in 0..2 {
                // It would only raise the term that the one with the longer log must outbid, time after time.
                if group.knows_longer_log() {
                    break;
                }
                stand(&group, dead).await;
                let first = Duration::from_millis(TAKEOVER_AGAIN_MS);
                let led = leadership.wait_for(|now| is_led(now, dead));
                if tokio::time::timeout(first, led).await.is_ok() {
                    return;
                }
            }
        }
        // Another length for each place, so that two do not go on outbidding each other.
        let patience = Duration::from_millis(TAKEOVER_PATIENCE_MS + TAKEOVER_STEP_MS * turn);
        let led = leadership.wait_for(|now| is_led(now, dead));
        if tokio::time::timeout(patience, led).await.is_ok() {
            return;
        }
    }
}

/// Whether somebody leads who is not dead.
fn is_led(now: &Leadership, dead: NodeId) -> bool {
    now.leader.is_some_and(|leader| process_of(leader) != dead)
}

async fn stand(group: &Group, dead: NodeId) {
    let shard = group.group_id();
    tracing::info!(
        shard,
        dead,
        "the leader's process is dead: standing for election"
    );
    if let Err(error) = group.trigger_election().await {
        tracing::debug!(shard, %error, "could not stand for election");
    }
}

/// Place in the order of candidates, another one for each group so that one node does not take all; `None`: no voter.
fn turn_of(group: &Group, dead: NodeId) -> Option<u64> {
    let voters: Vec<NodeId> = group
        .status()
        .voters
        .into_iter()
        .filter(|voter| process_of(*voter) != dead)
        .collect();
    let count = voters.len() as u64;
    let place = voters.iter().position(|voter| *voter == group.replica())? as u64;
    Some((place + group.group_id()) % count.max(1))
}
