//! `lease`: grants for one numbered call of a fetcher's session.

mod apply;
pub(crate) mod budget;
mod grant;
mod repeat;
#[cfg(test)]
mod tests;
mod work;

use crate::command::discover::Errand;
use std::collections::BTreeMap;

/// One numbered call.
#[derive(Clone, PartialEq, prost::Message)]
pub struct LeaseCall {
    /// 16 bytes chosen by the fetcher.
    #[prost(bytes = "vec", tag = "1")]
    pub session: Vec<u8>,
    /// Rises by one a call; the same number again gets the same answer again.
    #[prost(uint64, tag = "2")]
    pub number: u64,
    /// Grants at most; clamped to [`crate::limits::LEASES_PER_CALL`].
    #[prost(uint32, tag = "3")]
    pub max_leases: u32,
    /// Time to live, ms; clamped to the limits.
    #[prost(uint64, tag = "4")]
    pub ttl_ms: u64,
}

/// The answer to one numbered call.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaseReply {
    /// The grants of this number.
    Granted {
        /// In grant order.
        leases: Vec<Lease>,
        /// First granted to an earlier attempt of the same number. Only what is still leased under the same token
        /// is repeated.
        repeated: bool,
        /// What is ready after the grants.
        ready: ReadySummary,
        /// Shard time until the next host can be ready; `None` when nothing waits for time.
        next_ready_in_ms: Option<u64>,
    },
    /// A newer number was answered.
    Stale {
        /// The newest number answered.
        newest: u64,
    },
    /// The call makes no sense (session not 16 bytes, number 0).
    Malformed,
}

/// What waits ready in the shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadySummary {
    /// Hosts ready now, by priority class (priority / 32); at most [`crate::limits::READY_COUNTED`] are counted for a crawl and class.
    pub by_class: [u64; 8],
    /// How long the longest-ready host has been ready, ms.
    pub oldest_ready_ms: u64,
    /// Queued URLs.
    pub queued: u64,
    /// Leases out.
    pub leased: u64,
}

/// What a lease is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum LeaseKind {
    /// A page.
    Page = 1,
    /// An authority's robots.txt.
    Robots = 2,
    /// A robots redirect on behalf of another authority.
    Errand = 3,
}

/// A lease's identity (with its token).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
pub struct LeaseKey {
    /// [`LeaseKind`].
    #[prost(enumeration = "LeaseKind", tag = "1")]
    pub kind: i32,
    /// Partition hash.
    #[prost(fixed64, tag = "2")]
    pub partition: u64,
    /// Of the URL; of the authority; of the errand's origin.
    #[prost(fixed64, tag = "3")]
    pub fingerprint: u64,
}

impl LeaseKey {
    /// Of the robots.txt of a host's authority.
    pub(crate) fn of_robots(partition: u64, host: u64, slot: u8) -> Self {
        Self {
            kind: LeaseKind::Robots as i32,
            partition,
            fingerprint: crate::state::hosts::robots_id(host, slot),
        }
    }
}

/// One grant.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// Identity.
    pub key: LeaseKey,
    /// Fencing token.
    pub token: u64,
    /// Shard time of its end.
    pub deadline_ms: u64,
    /// What to do.
    pub work: Work,
}

/// The work of a lease.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Fetch a page.
    Page(PageWork),
    /// Fetch a robots.txt.
    Robots(RobotsWork),
    /// Fetch a robots redirect's target.
    Errand(Errand),
}

/// A page to fetch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageWork {
    /// Crawl id.
    pub crawl: u32,
    /// Canonical URL.
    pub url: String,
    /// 0 to 255.
    pub priority: u32,
    /// Links from a seed.
    pub depth: u32,
    /// Redirects in a row.
    pub redirect_hops: u32,
    /// Opaque pairs.
    pub metadata: BTreeMap<String, String>,
    /// Of the last stored capture.
    pub etag: String,
    /// Of the last stored capture.
    pub last_modified: String,
    /// SHA-256 of the last stored payload; empty on a first visit.
    pub digest: Vec<u8>,
    /// `None`: everything is allowed; else the digest of the rules' body.
    pub robots_digest: Option<Vec<u8>>,
    /// Delay in force at release, ms.
    pub delay_ms: u64,
    /// Attempts already made at this visit.
    pub attempt: u32,
}

/// A robots.txt to fetch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RobotsWork {
    /// "scheme://host[:port]".
    pub origin: String,
    /// Rises with each try; results of an older one are dropped.
    pub attempt: u32,
    /// Of the stored body.
    pub etag: String,
    /// Of the stored body.
    pub last_modified: String,
}
