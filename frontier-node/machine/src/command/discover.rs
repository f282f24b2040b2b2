//! `discover`: links, errands and errand results that this shard owns.

mod apply;
mod errand;
#[cfg(test)]
mod tests;

use crate::command::report::RobotsFound;

/// A batch of items, at most [`crate::limits::DISCOVER_ITEMS`].
#[derive(Clone, PartialEq, prost::Message)]
pub struct Discover {
    /// The items, in the sender's order.
    #[prost(message, repeated, tag = "1")]
    pub items: Vec<Item>,
}

/// One item of a batch; also what an outbox row holds.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Item {
    /// Which kind.
    #[prost(oneof = "ItemKind", tags = "1, 2, 3")]
    pub kind: Option<ItemKind>,
}

/// What travels between owners.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ItemKind {
    /// A URL somebody found.
    #[prost(message, tag = "1")]
    Link(Link),
    /// A robots redirect that needs a fetch at a host of this shard.
    #[prost(message, tag = "2")]
    Errand(Errand),
    /// What an errand found for an authority of this shard.
    #[prost(message, tag = "3")]
    ErrandResult(ErrandResult),
}

/// A URL somebody found. The node verified the canonical form and the site and computed the keys.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Link {
    /// The crawl's id, never reused.
    #[prost(uint32, tag = "1")]
    pub crawl: u32,
    /// Canonical URL.
    #[prost(string, tag = "2")]
    pub url: String,
    /// Partition hash of its site.
    #[prost(fixed64, tag = "3")]
    pub partition: u64,
    /// Keyed fingerprint of (crawl, URL).
    #[prost(fixed64, tag = "4")]
    pub fingerprint: u64,
    /// 0 (first) to 255 (last); larger values are clamped and counted.
    #[prost(uint32, tag = "5")]
    pub priority: u32,
    /// Links followed from a seed.
    #[prost(uint32, tag = "6")]
    pub depth: u32,
    /// Redirects followed in a row.
    #[prost(uint32, tag = "7")]
    pub redirect_hops: u32,
    /// Opaque pairs.
    #[prost(btree_map = "string, string", tag = "8")]
    pub metadata: std::collections::BTreeMap<String, String>,
    /// Empty = the host.
    #[prost(string, tag = "9")]
    pub queue_key: String,
}

/// A robots redirect placed with the target's owner.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Errand {
    /// Canonical URL to fetch.
    #[prost(string, tag = "1")]
    pub url: String,
    /// Partition hash of the target's site.
    #[prost(fixed64, tag = "2")]
    pub partition: u64,
    /// "scheme://host[:port]" on whose behalf.
    #[prost(string, tag = "3")]
    pub origin: String,
    /// Partition hash of the origin's site.
    #[prost(fixed64, tag = "4")]
    pub origin_partition: u64,
    /// 1 to 5.
    #[prost(uint32, tag = "5")]
    pub hop: u32,
    /// The origin's robots attempt.
    #[prost(uint32, tag = "6")]
    pub attempt: u32,
    /// Identity within the target's partition: keyed fingerprint of the origin, computed by the node.
    #[prost(fixed64, tag = "7")]
    pub fingerprint: u64,
}

/// What an errand found.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ErrandResult {
    /// "scheme://host[:port]".
    #[prost(string, tag = "1")]
    pub origin: String,
    /// Partition hash of the origin's site.
    #[prost(fixed64, tag = "2")]
    pub origin_partition: u64,
    /// The attempt it belongs to; an older one is dropped.
    #[prost(uint32, tag = "3")]
    pub attempt: u32,
    /// The finding.
    #[prost(message, optional, tag = "4")]
    pub robots: Option<RobotsFound>,
}

/// The answer for one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscoverResult {
    /// Entered the frontier, or the errand was placed, or the result was taken.
    New,
    /// Seen before, placed before or outdated.
    Known,
    /// A rule or limit says no.
    Refused(Refusal),
    /// The item's partition is outside the shard's range.
    WrongShard,
    /// The host is folded into another: the URL to offer instead, to its own owner.
    Moved(String),
}

/// Why a URL or errand does not enter the frontier. Counted by reason; never entered in `seen`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// The crawl has no policy here.
    UnknownCrawl,
    /// The crawl is being removed.
    CrawlRemoved,
    /// Deeper than the crawl's limit.
    Depth,
    /// More redirects in a row than the crawl's limit.
    RedirectHops,
    /// The host's queue is full.
    HostQueueFull,
    /// The site's queues are full.
    SiteQueueFull,
    /// The site has as many hosts as the crawl's limit.
    SiteHosts,
    /// A host has as many lanes (crawl and authority) as it may.
    HostLanes,
    /// URL, metadata or queue key over a limit, or a field that makes no sense.
    Malformed,
    /// The target host has as many errands waiting as it may.
    ErrandsFull,
    /// The errand went through more hops than RFC 9309 asks for.
    ErrandHops,
}

impl Refusal {
    /// Stable snake_case name, as it stands on the wire and in counters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownCrawl => "unknown_crawl",
            Self::CrawlRemoved => "crawl_removed",
            Self::Depth => "depth",
            Self::RedirectHops => "redirect_hops",
            Self::HostQueueFull => "host_queue_full",
            Self::SiteQueueFull => "site_queue_full",
            Self::SiteHosts => "site_hosts",
            Self::HostLanes => "host_lanes",
            Self::Malformed => "malformed",
            Self::ErrandsFull => "errands_full",
            Self::ErrandHops => "errand_hops",
        }
    }
}
