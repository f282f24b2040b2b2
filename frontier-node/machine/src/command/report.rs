//! `report`: ends of leases, with what happened.

mod apply;
mod check;
pub(crate) mod conclude;
mod errand;
mod page;
mod robots;
#[cfg(test)]
mod tests;

use crate::command::{discover::Item, lease::LeaseKey};

/// A batch of reports, at most [`crate::limits::REPORT_ITEMS`].
#[derive(Clone, PartialEq, prost::Message)]
pub struct ReportBatch {
    /// In the sender's order.
    #[prost(message, repeated, tag = "1")]
    pub items: Vec<Report>,
}

/// The end of one lease.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Report {
    /// Identity.
    #[prost(message, optional, tag = "1")]
    pub key: Option<LeaseKey>,
    /// The lease's token.
    #[prost(uint64, tag = "2")]
    pub token: u64,
    /// How the fetch touched the host. Absent counts as an end now without a response.
    #[prost(message, optional, tag = "3")]
    pub contact: Option<Contact>,
    /// What came of it.
    #[prost(oneof = "Outcome", tags = "4, 5, 6")]
    pub outcome: Option<Outcome>,
    /// Items whose owner could not be reached.
    #[prost(message, repeated, tag = "7")]
    pub undelivered: Vec<Item>,
}

/// What came of a lease, by kind.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Outcome {
    /// Of a page.
    #[prost(message, tag = "4")]
    Page(PageOutcome),
    /// Of a robots.txt.
    #[prost(message, tag = "5")]
    Robots(RobotsOutcome),
    /// Of an errand.
    #[prost(message, tag = "6")]
    Errand(ErrandOutcome),
}

/// How a fetch touched the host; ages are durations on the fetcher's clock at sending.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Contact {
    /// No byte of a request was written.
    #[prost(bool, tag = "1")]
    pub nothing_written: bool,
    /// Since the first response byte; absent: no response.
    #[prost(uint64, optional, tag = "2")]
    pub since_first_byte_ms: Option<u64>,
    /// Since the end of the fetch.
    #[prost(uint64, tag = "3")]
    pub since_end_ms: u64,
    /// Request's first byte to first response byte.
    #[prost(uint64, tag = "4")]
    pub response_time_ms: u64,
    /// What the host asked for; 0 = nothing.
    #[prost(uint64, tag = "5")]
    pub retry_after_ms: u64,
}

/// How a page's fetch ended. Same meaning and numbers as `frontier.v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum PageCode {
    /// Stored durably.
    Stored = 1,
    /// 304 to a conditional request.
    NotModified = 2,
    /// Redirect.
    Redirect = 3,
    /// Final answer without content.
    HttpError = 4,
    /// 429, 5xx.
    HttpBusy = 5,
    /// No usable answer.
    NetworkError = 6,
    /// robots.txt forbids it.
    Disallowed = 7,
    /// A rule of the fetcher.
    Refused = 8,
    /// No such name.
    DnsNotFound = 9,
    /// Not the host's fault: requeued without an attempt.
    Requeue = 10,
}

/// How a page's fetch ended.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PageOutcome {
    /// [`PageCode`].
    #[prost(enumeration = "PageCode", tag = "1")]
    pub code: i32,
    /// HTTP status or 0.
    #[prost(uint32, tag = "2")]
    pub status: u32,
    /// snake_case kind, at most 64 bytes.
    #[prost(string, tag = "3")]
    pub reason: String,
    /// SHA-256 of the stored payload.
    #[prost(bytes = "vec", tag = "4")]
    pub digest: Vec<u8>,
    /// Decoded size.
    #[prost(uint64, tag = "5")]
    pub payload_size_bytes: u64,
    /// As received.
    #[prost(string, tag = "6")]
    pub etag: String,
    /// As received.
    #[prost(string, tag = "7")]
    pub last_modified: String,
    /// Stores that hold it.
    #[prost(uint32, repeated, tag = "8")]
    pub stores: Vec<u32>,
    /// Canonical target of a redirect.
    #[prost(string, tag = "9")]
    pub redirect_target: String,
    /// Cut at a limit.
    #[prost(bool, tag = "10")]
    pub truncated: bool,
}

/// What a robots.txt request found. Same meaning and numbers as `frontier.v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum RobotsCode {
    /// 2xx with a body.
    Rules = 1,
    /// 4xx.
    AllowAll = 2,
    /// 5xx, network, refused hop.
    Unreachable = 3,
    /// 304.
    NotModified = 4,
    /// Redirected to another host; the errand is placed there.
    Pending = 5,
}

/// What a robots.txt request found.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RobotsFound {
    /// [`RobotsCode`].
    #[prost(enumeration = "RobotsCode", tag = "1")]
    pub code: i32,
    /// At most [`crate::limits::ROBOTS_BODY_SIZE_BYTES`].
    #[prost(bytes = "vec", tag = "2")]
    pub body: Vec<u8>,
    /// SHA-256 of `body`, verified by the node.
    #[prost(bytes = "vec", tag = "3")]
    pub digest: Vec<u8>,
    /// Asked by the rules, uncapped; 0 = nothing.
    #[prost(uint64, tag = "4")]
    pub crawl_delay_ms: u64,
    /// HTTP status or 0.
    #[prost(uint32, tag = "5")]
    pub status: u32,
    /// snake_case kind.
    #[prost(string, tag = "6")]
    pub reason: String,
    /// As received.
    #[prost(string, tag = "7")]
    pub etag: String,
    /// As received.
    #[prost(string, tag = "8")]
    pub last_modified: String,
    /// 2xx without one valid line: old rules are kept.
    #[prost(bool, tag = "9")]
    pub no_valid_line: bool,
}

/// The end of a robots lease.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RobotsOutcome {
    /// The finding; absent with `requeue`.
    #[prost(message, optional, tag = "1")]
    pub found: Option<RobotsFound>,
    /// Not the host's fault: asked again.
    #[prost(bool, tag = "2")]
    pub requeue: bool,
}

/// The end of an errand lease.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ErrandOutcome {
    /// The result went out (or is among the undelivered).
    #[prost(bool, tag = "1")]
    pub delivered: bool,
    /// Not the host's fault: asked again.
    #[prost(bool, tag = "2")]
    pub requeue: bool,
    /// The host was busy or failed (429, 5xx, network): back off.
    #[prost(bool, tag = "3")]
    pub failed: bool,
}

/// The answer for one report or release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportResult {
    /// Closed now, or this token closed it before.
    Closed,
    /// Closed, but back in the queue: its outbox is full.
    Requeued,
    /// The token is not the lease's.
    LeaseLost(LostReason),
    /// Outside the shard's range.
    WrongShard,
    /// Makes no sense; the lease stays until it expires.
    Invalid(&'static str),
}

/// Why a lease is not the sender's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LostReason {
    /// It expired and nobody holds it now.
    Expired,
    /// It is leased again under a newer token.
    Superseded,
    /// Nothing is known of it.
    Unknown,
}

impl LostReason {
    /// Stable snake_case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Superseded => "superseded",
            Self::Unknown => "unknown",
        }
    }
}
