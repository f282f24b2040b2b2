//! `set_policy`: a crawl's or a host's policy. Zero in a field means its default.

mod apply;
#[cfg(test)]
mod tests;

/// One policy.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SetPolicy {
    /// Which.
    #[prost(oneof = "Policy", tags = "1, 2, 3, 4, 5")]
    pub policy: Option<Policy>,
}

/// Whose policy.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Policy {
    /// A crawl's; creates it here.
    #[prost(message, tag = "1")]
    Crawl(CrawlPolicy),
    /// A host's.
    #[prost(message, tag = "2")]
    Host(HostPolicy),
    /// Some of a host's; what is not named stays as it is.
    #[prost(message, tag = "3")]
    HostChange(HostChange),
    /// Whether a crawl's URLs are leased; the rest of its policy stays as it is.
    #[prost(message, tag = "4")]
    CrawlPause(CrawlPause),
    /// Whether anything of the shard is leased.
    #[prost(message, tag = "5")]
    ShardPause(ShardPause),
}

/// A crawl's policy; meanings, units and defaults as in `frontier.v1.CrawlPolicy`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CrawlPolicy {
    /// Crawl id, never reused; 0 is refused.
    #[prost(uint32, tag = "1")]
    pub crawl: u32,
    /// Default 1 000.
    #[prost(uint64, tag = "2")]
    pub min_delay_ms: u64,
    /// Default 300 000.
    #[prost(uint64, tag = "3")]
    pub crawl_delay_cap_ms: u64,
    /// Tenths; default 100.
    #[prost(uint32, tag = "4")]
    pub response_time_factor_tenths: u32,
    /// Default 60 000.
    #[prost(uint64, tag = "5")]
    pub response_time_delay_cap_ms: u64,
    /// Default 30 000.
    #[prost(uint64, tag = "6")]
    pub fetch_timeout_ms: u64,
    /// Default 10 000.
    #[prost(uint64, tag = "7")]
    pub back_off_base_ms: u64,
    /// Default 86 400 000.
    #[prost(uint64, tag = "8")]
    pub back_off_cap_ms: u64,
    /// Default 8.
    #[prost(uint32, tag = "9")]
    pub max_attempts: u32,
    /// Default 255.
    #[prost(uint32, tag = "10")]
    pub max_depth: u32,
    /// Default 1 000 000.
    #[prost(uint64, tag = "11")]
    pub max_queued_per_host: u64,
    /// Default 10 000 000.
    #[prost(uint64, tag = "12")]
    pub max_queued_per_site: u64,
    /// Default 100 000.
    #[prost(uint64, tag = "13")]
    pub max_hosts_per_site: u64,
    /// Default 10.
    #[prost(uint32, tag = "14")]
    pub max_redirect_hops: u32,
    /// 0 = what the delay allows in a cycle.
    #[prost(uint64, tag = "15")]
    pub host_budget_pages: u64,
    /// Default 30 days.
    #[prost(uint64, tag = "16")]
    pub budget_cycle_ms: u64,
    /// Off unless set.
    #[prost(bool, tag = "17")]
    pub revisit: bool,
    /// Default 1 hour.
    #[prost(uint64, tag = "18")]
    pub revisit_min_ms: u64,
    /// Default 90 days.
    #[prost(uint64, tag = "19")]
    pub revisit_max_ms: u64,
    /// Default 24 hours, also the most.
    #[prost(uint64, tag = "20")]
    pub robots_fresh_ms: u64,
    /// No leases while set.
    #[prost(bool, tag = "21")]
    pub paused: bool,
}

/// A host's policy, across crawls.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HostPolicy {
    /// Canonical host name.
    #[prost(string, tag = "1")]
    pub host: String,
    /// Partition hash.
    #[prost(fixed64, tag = "2")]
    pub partition: u64,
    /// 0 = none; only lengthens.
    #[prost(uint64, tag = "3")]
    pub min_delay_ms: u64,
    /// No lease for this long from the stamp; 0 = unblocked.
    #[prost(uint64, tag = "4")]
    pub block_for_ms: u64,
}

/// Some of a host's policy, across crawls.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HostChange {
    /// Canonical host name.
    #[prost(string, tag = "1")]
    pub host: String,
    /// Partition hash.
    #[prost(fixed64, tag = "2")]
    pub partition: u64,
    /// As in [`HostPolicy`].
    #[prost(uint64, optional, tag = "3")]
    pub min_delay_ms: Option<u64>,
    /// As in [`HostPolicy`].
    #[prost(uint64, optional, tag = "4")]
    pub block_for_ms: Option<u64>,
    /// No lease of it while set, without an end.
    #[prost(bool, optional, tag = "5")]
    pub paused: Option<bool>,
}

/// A crawl paused or resumed.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CrawlPause {
    /// Crawl id.
    #[prost(uint32, tag = "1")]
    pub crawl: u32,
    /// No leases while set.
    #[prost(bool, tag = "2")]
    pub paused: bool,
}

/// A shard paused or resumed. Crawls and hosts keep their own pauses.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ShardPause {
    /// No leases while set, robots files and errands included.
    #[prost(bool, tag = "1")]
    pub paused: bool,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetPolicyReply {
    /// Empty, or why it was refused.
    pub refused: &'static str,
}
