//! What operators have set for a shard: its crawls, and whether it is paused.

use crate::{command::set_policy::CrawlPolicy, machine::Machine};

/// A crawl of the shard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrawlRecord {
    /// As it was given; zero means the default.
    pub policy: CrawlPolicy,
    /// It is being removed, or was.
    pub removed: bool,
    /// The removal forgets what was seen.
    pub forget: bool,
}

/// What is set for a shard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShardSettings {
    /// Nothing is leased.
    pub paused: bool,
    /// By id.
    pub crawls: Vec<CrawlRecord>,
    /// Page stores that are gone for good, by id.
    pub dead_stores: Vec<u32>,
}

impl Machine {
    /// What is set for the shard. At most [`crate::limits::CRAWLS`] crawls.
    pub fn settings(&self) -> ShardSettings {
        let crawls = self.crawls.values().map(|crawl| CrawlRecord {
            policy: crawl.given,
            removed: crawl.removed,
            forget: crawl.forget,
        });
        ShardSettings {
            paused: self.meta.paused,
            crawls: crawls.collect(),
            dead_stores: self.dead_stores().to_vec(),
        }
    }
}
