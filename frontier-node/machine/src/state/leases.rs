//! Leases that are out: whose they are, and which ends first.

use crate::command::lease::LeaseKey;
use std::collections::{BTreeMap, BTreeSet};

/// What must be known of a lease without reading its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseEntry {
    pub token: u64,
    pub deadline_ms: u64,
    pub host: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Leases {
    by_key: BTreeMap<LeaseKey, LeaseEntry>,
    by_deadline: BTreeSet<(u64, LeaseKey)>,
    /// A host has one lease at most.
    by_host: BTreeMap<u64, LeaseKey>,
}

impl Leases {
    pub fn get(&self, key: LeaseKey) -> Option<LeaseEntry> {
        self.by_key.get(&key).copied()
    }

    pub fn insert(&mut self, key: LeaseKey, entry: LeaseEntry) {
        self.by_deadline.insert((entry.deadline_ms, key));
        self.by_host.insert(entry.host, key);
        self.by_key.insert(key, entry);
    }

    pub fn remove(&mut self, key: LeaseKey) {
        if let Some(entry) = self.by_key.remove(&key) {
            self.by_deadline.remove(&(entry.deadline_ms, key));
            self.by_host.remove(&entry.host);
        }
    }

    /// Takes out the leases of the sites from that hash on.
    pub fn split_off(&mut self, at: u64) -> Self {
        let mut high = Self::default();
        for (key, entry) in std::mem::take(self).by_key {
            let side = if key.partition < at {
                &mut *self
            } else {
                &mut high
            };
            side.insert(key, entry);
        }
        high
    }

    pub fn keys(&self) -> impl Iterator<Item = LeaseKey> {
        self.by_key.keys().copied()
    }

    /// Keys of the leases with this token or a lower one, in the order of keys.
    pub fn up_to(&self, token: u64) -> impl Iterator<Item = LeaseKey> {
        let old = self.by_key.iter();
        old.filter(move |(_, entry)| entry.token <= token)
            .map(|(key, _)| *key)
    }

    /// The lease of a host.
    pub fn of_host(&self, host: u64) -> Option<LeaseKey> {
        self.by_host.get(&host).copied()
    }

    /// The lease that ends first.
    pub fn first(&self) -> Option<(u64, LeaseKey)> {
        self.by_deadline.first().copied()
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }
}
