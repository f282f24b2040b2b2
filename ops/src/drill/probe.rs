//! How long a shard gives no leases. A session of its own asks, and gives back what it gets; and since the fetchers ask too, and
//! may take every host that becomes ready, the new leader's own count of leases is watched as well: whichever shows one first.

use super::limits::{LEASE_WITHIN, PROBE_EVERY, PROBE_TTL_MS, PROBE_WAIT_MS, WATCH_EVERY};
use crate::bench::rng::mix;
use crate::cluster::NodeClient;
use crate::output::CommandError;
use client::Frontier;
use proto::frontier_v1 as pb;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Counters whose sum is the leases that a shard granted.
const LEASES: [&str; 3] = ["leases_page", "leases_robots", "leases_errand"];

/// Asks a shard's replicas for a lease until one gives it.
pub struct LeaseProbe {
    started: Instant,
    shard: u64,
    first: mpsc::UnboundedReceiver<Instant>,
    /// Ends the tasks with this value.
    _tasks: JoinSet<()>,
}

impl LeaseProbe {
    /// Starts asking these nodes at once, each by a task of its own, so that one that hangs holds up no other.
    pub fn start(nodes: impl IntoIterator<Item = NodeClient>, shard: u64) -> Self {
        Self::since(Instant::now(), nodes, shard)
    }

    /// The same for something that broke a moment ago.
    pub fn since(
        started: Instant,
        nodes: impl IntoIterator<Item = NodeClient>,
        shard: u64,
    ) -> Self {
        let (found, first) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for node in nodes {
            tasks.spawn(watch(node.clone(), shard, found.clone()));
            tasks.spawn(ask(node, shard, found.clone()));
        }
        Self {
            started,
            shard,
            first,
            _tasks: tasks,
        }
    }

    /// The time from its start to the first lease that was granted after it.
    pub async fn first(mut self) -> Result<Duration, CommandError> {
        match tokio::time::timeout(LEASE_WITHIN, self.first.recv()).await {
            Ok(Some(at)) => Ok(at.saturating_duration_since(self.started)),
            _ => Err(CommandError::Message(format!(
                "shard {} gave no lease for {} s",
                self.shard,
                LEASE_WITHIN.as_secs()
            ))),
        }
    }
}

/// Asks until it got one lease and gave it back.
async fn ask(node: NodeClient, shard: u64, found: mpsc::UnboundedSender<Instant>) {
    let session = session();
    for number in 1.. {
        let request = pb::LeaseRequest {
            shard,
            session: session.to_vec().into(),
            number,
            max_leases: 1,
            ttl_ms: PROBE_TTL_MS,
            wait_ms: PROBE_WAIT_MS,
        };
        if let Ok(answer) = node.lease(request).await
            && !answer.leases.is_empty()
        {
            // Nobody may be waiting any more.
            let _ = found.send(Instant::now());
            give_back(&node, shard, answer.leases).await;
            return;
        }
        tokio::time::sleep(PROBE_EVERY).await;
    }
}

/// Watches how many leases a replica has granted since it began to lead.
async fn watch(node: NodeClient, shard: u64, found: mpsc::UnboundedSender<Instant>) {
    let mut at_first = None;
    loop {
        let answer = node.shard_status(pb::ShardStatusRequest { shard }).await;
        if let Ok(status) = answer
            && status.leader
        {
            let granted = LEASES.iter().filter_map(|name| status.counters.get(*name));
            let granted: u64 = granted.sum();
            if granted > *at_first.get_or_insert(granted) {
                // Nobody may be waiting any more.
                let _ = found.send(Instant::now());
                return;
            }
        }
        tokio::time::sleep(WATCH_EVERY).await;
    }
}

/// A lease that cannot be given back runs out by itself.
async fn give_back(node: &NodeClient, shard: u64, leases: Vec<pb::Lease>) {
    let items = leases.into_iter().map(|lease| pb::ReleaseItem {
        key: lease.key,
        token: lease.token,
    });
    let request = pb::ReleaseRequest {
        shard,
        items: items.collect(),
    };
    if let Err(error) = node.release(request).await {
        tracing::debug!(%error, shard, "a probe's lease was not given back");
    }
}

/// Sixteen bytes that no other session of this cluster has.
fn session() -> [u8; 16] {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = now.map_or(0, |since| since.as_nanos() as u64);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let first = mix(now_ns ^ (u64::from(std::process::id()) << 32));
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_be_bytes());
    bytes[8..].copy_from_slice(&mix(first ^ mix(count)).to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::session;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_sessions_are_the_same() {
        let sessions: BTreeSet<_> = (0..1_000).map(|_| session()).collect();
        assert_eq!(sessions.len(), 1_000);
    }
}
