//! The machine: what a shard knows without reading rows.

use crate::{
    command::lease::budget::spread_ms,
    counters::Counter,
    keys::{self, meta::MetaRow},
    limits,
    shard_id::ShardId,
    state::{Crawl, Hosts, Index, Leases, LongestWaits, OutboxSites, Policy, Robots, Sessions},
};
use std::collections::{BTreeMap, BTreeSet};

/// One shard's state machine. All of it follows from rows.
#[derive(Debug)]
pub struct Machine {
    pub(crate) shard: ShardId,
    pub(crate) meta: MetaRow,
    pub(crate) crawls: BTreeMap<u32, Crawl>,
    pub(crate) hosts: Hosts,
    pub(crate) index: Index,
    pub(crate) leases: Leases,
    pub(crate) sessions: Sessions,
    pub(crate) outbox: OutboxSites,
    /// Hosts whose rows are to be written at the end of the entry.
    pub(crate) changed: BTreeSet<u64>,
    /// Seeded by splits and not taken over yet; the one part that does not follow from this shard's rows.
    pub(crate) children: Vec<Machine>,
}

impl Machine {
    /// First and last partition hash of the shard, inclusive.
    pub fn range(&self) -> (u64, u64) {
        (self.meta.first, self.meta.last)
    }

    /// Counts changes of the shard's shape.
    pub fn epoch(&self) -> u64 {
        self.meta.epoch
    }

    /// The shard this one was split from.
    pub fn split_from(&self) -> Option<ShardId> {
        self.meta.split_from.map(ShardId)
    }

    /// The children that entries applied since the last call have seeded, in order. Their rows are in the same overlay as those
    /// of the splits; once these are committed, [`Machine::rebuild`] would give the same, at the cost of reading them.
    pub fn take_children(&mut self) -> Vec<Self> {
        std::mem::take(&mut self.children)
    }

    /// The shard's number.
    pub fn shard(&self) -> ShardId {
        self.shard
    }

    /// Shard time of the last entry, ms.
    pub fn now_ms(&self) -> u64 {
        self.meta.now_ms
    }

    /// Wall stamp of the last entry, Unix ms.
    pub fn wall_unix_ms(&self) -> u64 {
        self.meta.wall_unix_ms
    }

    /// Begins counting tokens anew. Breaks the fencing: only for harnesses that must notice.
    #[doc(hidden)]
    pub fn forget_tokens(&mut self) {
        self.meta.token = 0;
    }

    /// Forgets when hosts were contacted. Breaks politeness: only for harnesses that must notice.
    #[doc(hidden)]
    pub fn forget_contacts(&mut self) {
        for (_, host) in self.hosts.iter_mut() {
            (host.contacted, host.last_contact_ms) = (false, 0);
        }
        self.index = Index::of(&mut self.hosts);
    }

    /// All row key ranges of the shard, `from <= key < to`. A split makes them smaller: whoever holds them asks again.
    pub fn key_ranges(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        keys::key_ranges(self.shard, self.meta.first, self.meta.last)
    }

    pub(crate) fn holds(&self, partition: u64) -> bool {
        (self.meta.first..=self.meta.last).contains(&partition)
    }

    /// Whether hosts that stand under that crawl in the ordered sets may be leased for it.
    pub(crate) fn is_live(&self, crawl: u32) -> bool {
        let is_live = |crawl: &Crawl| crawl.is_live();
        !self.meta.paused
            && (crawl == crate::state::host::ERRANDS
                || self.crawls.get(&crawl).is_some_and(is_live))
    }

    pub(crate) fn policy(&self, crawl: u32) -> Policy {
        self.crawls
            .get(&crawl)
            .map_or_else(Policy::fallback, |crawl| crawl.policy)
    }

    pub(crate) fn count(&mut self, counter: Counter) {
        self.add(counter, 1);
    }

    pub(crate) fn add(&mut self, counter: Counter, amount: u64) {
        let position = counter as usize;
        if self.meta.counters.len() <= position {
            self.meta.counters.resize(position + 1, 0);
        }
        if let Some(value) = self.meta.counters.get_mut(position) {
            *value = value.saturating_add(amount);
        }
    }

    /// How far ahead wall dates of each kind may legally lie.
    pub(crate) fn longest_wall_waits(&self) -> LongestWaits {
        let longest = |of: fn(&Policy) -> u64| {
            self.crawls
                .values()
                .map(|crawl| of(&crawl.policy))
                .max()
                .unwrap_or(limits::POLICY_DURATION_MS)
        };
        LongestWaits {
            visit_ms: longest(|policy| policy.revisit_max_ms),
            budget_ms: longest(|policy| {
                let cycle_ms = policy.budget_cycle_ms;
                // An end of a cycle is at most two ahead, and the wait for it somewhat longer.
                cycle_ms
                    .saturating_mul(2)
                    .saturating_add(spread_ms(cycle_ms))
            }),
            robots_ms: Robots::LONGEST_FRESH_MS,
        }
    }
}
