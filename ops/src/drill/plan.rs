//! What a drill is made of: how many processes, how much work, which flags.

use super::args::Common;
use super::limits::{HOSTS, NODES, OPEN_FETCHES, PATIENCE};
use crate::cluster::Addresses;
use ::fakeweb::{FakeWebOptions, Features};
use std::collections::BTreeMap;
use std::time::Duration;

/// Longest life of a host in a fake web, in pages: a crawl cannot be kept going longer than that.
const MOST_PAGES: u32 = ::fakeweb::limits::MAX_PAGES_PER_HOST;

/// What a drill is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nodes.
    pub nodes: u32,
    /// Nodes that join later.
    pub joiners: u32,
    /// Fetchers.
    pub fetchers: u32,
    /// Shards.
    pub shards: u32,
    /// Hosts of the web.
    pub hosts: u32,
    /// Pages of a large host.
    pub pages_per_host: u32,
    /// Mean pages of a host.
    pub mean_pages: u32,
    /// Least time between two contacts of a host.
    pub delay: Duration,
    /// Open fetches of one fetcher.
    pub open_fetches: u32,
    /// Attempts of a URL.
    pub attempts: u32,
    /// A delay is at least this many tenths of the last response time; 0: the product's default, ten times.
    pub response_time_factor_tenths: u32,
    /// A crawl is over when nothing becomes ready within this time.
    pub patience: Duration,
    /// More disks are lost than a page has copies, so pages may be gone.
    pub may_lose_pages: bool,
    /// What occurs in the web.
    pub features: Features,
    /// Seed of the web and of every choice.
    pub seed: u64,
    /// Further flags, by node.
    pub node_flags: BTreeMap<u32, Vec<String>>,
    /// What runs a node's program, by node.
    pub node_within: BTreeMap<u32, Vec<String>>,
    /// Where the nodes listen, if not on free loopback ports.
    pub addresses: Option<Addresses>,
}

impl Plan {
    /// Three nodes, two fetchers, and hosts that keep them busy for so long: nearly all have as many pages as the delay
    /// lets a fetcher have in that time.
    pub fn lasting(busy: Duration, common: &Common) -> Self {
        let delay_ms = common.delay.as_millis().max(1);
        let pages = u32::try_from(busy.as_millis() / delay_ms).unwrap_or(MOST_PAGES);
        let pages = pages.saturating_add(10).min(MOST_PAGES);
        Self {
            nodes: NODES,
            joiners: 0,
            fetchers: 2,
            shards: common.shards,
            hosts: common.hosts,
            pages_per_host: pages,
            mean_pages: pages,
            delay: common.delay,
            open_fetches: OPEN_FETCHES.max(common.hosts * OPEN_FETCHES / HOSTS),
            attempts: super::limits::ATTEMPTS,
            // Nearly off: a busy machine would lengthen the delays, and hide what comes too early.
            response_time_factor_tenths: 1,
            patience: PATIENCE,
            may_lose_pages: false,
            features: steady(),
            seed: common.seed,
            node_flags: BTreeMap::new(),
            node_within: BTreeMap::new(),
            addresses: None,
        }
    }

    /// The web's options.
    pub fn web(&self) -> FakeWebOptions {
        let mut options = FakeWebOptions::new(self.hosts, self.seed);
        options.shape.max_pages_per_host = self.pages_per_host;
        options.shape.mean_pages = self.mean_pages;
        options.features = self.features.clone();
        options
    }

    /// How long the delays alone make a crawl of all of it last, about.
    pub fn lasts(&self) -> Duration {
        self.delay * self.pages_per_host
    }
}

/// Everything but what only ends after many tries, whose back-off would lengthen each quiet phase.
fn steady() -> Features {
    Features {
        server_errors: false,
        truncated: false,
        robots_errors: false,
        ..Features::default()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The arguments a drill has by default.
    pub fn common() -> Common {
        Common {
            rounds: None,
            json: false,
            hosts: HOSTS,
            delay: Duration::from_secs(1),
            shards: 4,
            seed: 1,
            out: None,
        }
    }

    #[test]
    fn hosts_have_as_many_pages_as_the_time_allows() {
        let plan = Plan::lasting(Duration::from_secs(50), &common());
        assert_eq!(plan.pages_per_host, 60);
        assert!(plan.lasts() >= Duration::from_secs(50));
        let fast = Common {
            delay: Duration::from_millis(500),
            ..common()
        };
        assert_eq!(
            Plan::lasting(Duration::from_secs(50), &fast).pages_per_host,
            110
        );
        assert!(plan.web().validate().is_ok());
        let long = Plan::lasting(Duration::from_secs(1 << 40), &common());
        assert!(long.web().validate().is_ok());
    }
}
