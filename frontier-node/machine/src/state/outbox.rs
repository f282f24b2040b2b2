//! How many outbox rows wait at each site, so that a split knows how many are its child's without reading them.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct OutboxSites {
    /// By partition hash; none is zero.
    waiting: BTreeMap<u64, u64>,
}

impl OutboxSites {
    pub fn put(&mut self, partition: u64, rows: u64) {
        if rows > 0 {
            *self.waiting.entry(partition).or_default() += rows;
        }
    }

    pub fn take(&mut self, partition: u64) {
        if let Some(waiting) = self.waiting.get_mut(&partition) {
            *waiting -= 1;
            if *waiting == 0 {
                self.waiting.remove(&partition);
            }
        }
    }

    /// Takes out the sites from that hash on.
    pub fn split_off(&mut self, at: u64) -> Self {
        Self {
            waiting: self.waiting.split_off(&at),
        }
    }

    /// Rows of all sites.
    pub fn waiting(&self) -> u64 {
        self.waiting.values().sum()
    }
}
