//! Counters of a shard.

use machine::ShardStatus;
use proto::frontier_v1 as pb;

use super::ready_summary;

/// What a shard says of itself, but for what only the node knows.
pub(crate) fn shard_status(
    shard: u64,
    applied_index: u64,
    status: ShardStatus,
) -> pb::ShardStatusResponse {
    let terms = status.terms;
    pb::ShardStatusResponse {
        shard,
        applied_index,
        now_ms: status.now_ms,
        wall_unix_ms: status.wall_unix_ms,
        terms: Some(pb::ConservationTerms {
            accepted: terms.accepted,
            queued: terms.queued,
            scheduled: terms.scheduled,
            leased: terms.leased,
            done: terms.done,
            removed: terms.removed,
            refused: terms.refused,
        }),
        ready: Some(ready_summary(&status.ready)),
        active_hosts: status.active_hosts,
        outbox_waiting: status.outbox.waiting,
        outbox_delivered: status.outbox.delivered,
        outbox_in: status.outbox.entered,
        robots_waiting: status.robots_waiting,
        counters: status
            .counters
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        leader: false,
        next_ready_in_ms: u64::MAX,
    }
}
