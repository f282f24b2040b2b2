//! Counters of the shard.

use crate::{command::lease::ReadySummary, counters::Counter, machine::Machine};
use std::collections::BTreeMap;

/// `accepted = queued + scheduled + leased + done + removed + refused`, exact after every entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConservationTerms {
    /// URLs that entered `seen`.
    pub accepted: u64,
    /// In queues.
    pub queued: u64,
    /// In schedules.
    pub scheduled: u64,
    /// Page leases out.
    pub leased: u64,
    /// Had an answer and will not be visited again.
    pub done: u64,
    /// Removed by clients.
    pub removed: u64,
    /// Ended after acceptance without an answer, each with a reason.
    pub refused: u64,
}

impl ConservationTerms {
    /// Whether nothing is lost and nothing is counted twice.
    pub fn hold(&self) -> bool {
        self.accepted
            == self.queued + self.scheduled + self.leased + self.done + self.removed + self.refused
    }
}

/// `entered = waiting + delivered`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outbox {
    /// Items ever put in.
    pub entered: u64,
    /// Items that wait.
    pub waiting: u64,
    /// Items that had a final answer.
    pub delivered: u64,
}

/// Counters of a shard after the last entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardStatus {
    /// Shard time.
    pub now_ms: u64,
    /// Wall stamp.
    pub wall_unix_ms: u64,
    /// Where the URLs are.
    pub terms: ConservationTerms,
    /// What is ready.
    pub ready: ReadySummary,
    /// Hosts in memory.
    pub active_hosts: u64,
    /// Undelivered items.
    pub outbox: Outbox,
    /// URLs that wait for robots.
    pub robots_waiting: u64,
    /// Sessions remembered.
    pub sessions: u64,
    /// Counters since the shard's creation, by name; all of them.
    pub counters: BTreeMap<&'static str, u64>,
}

impl Machine {
    /// Counters of the shard. Cost does not grow with it.
    pub fn status(&self) -> ShardStatus {
        let meta = &self.meta;
        ShardStatus {
            now_ms: meta.now_ms,
            wall_unix_ms: meta.wall_unix_ms,
            terms: ConservationTerms {
                accepted: meta.accepted,
                queued: meta.queued,
                scheduled: meta.scheduled,
                leased: meta.leased,
                done: meta.done,
                removed: meta.removed,
                refused: meta.refused,
            },
            ready: self.ready_summary(),
            active_hosts: self.hosts.len() as u64,
            outbox: Outbox {
                entered: meta.outbox_in,
                waiting: meta.outbox_waiting,
                delivered: meta.outbox_delivered,
            },
            robots_waiting: self.index.robots_waiting(),
            sessions: self.sessions.len() as u64,
            counters: Counter::ALL
                .iter()
                .map(|counter| (counter.name(), self.counter(*counter)))
                .collect(),
        }
    }

    /// About how many bytes the hosts take in memory, sets and allocation overhead included. Looks at every host: for benches.
    pub fn memory_estimate_bytes(&self) -> u64 {
        self.hosts
            .from(0)
            .map(|(_, host)| host.memory_estimate_bytes() as u64)
            .sum()
    }

    /// One counter.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.meta
            .counters
            .get(counter as usize)
            .copied()
            .unwrap_or(0)
    }
}
