//! `host`: `H | partition (8) | host name`: everything needed to release the host, so that a restart reads host rows
//! and never the queues.
//!
//! Written once an entry for every host that changed; deleted when nothing refers to the host and its clocks are past.

use crate::error::MachineError;

pub(crate) const TAG: u8 = b'H';
pub(crate) const SPACE: &str = "host";

pub(crate) fn key(partition: u64, host: &str) -> Vec<u8> {
    let mut key = super::numbered(TAG, partition, host.len());
    key.extend_from_slice(host.as_bytes());
    key
}

/// Partition and name.
pub(crate) fn parse(key: &[u8]) -> Result<(u64, String), MachineError> {
    let partition = super::number_at(SPACE, key, 1)?;
    let name = key.get(9..).map(|name| String::from_utf8(name.to_vec()));
    match name {
        Some(Ok(name)) => Ok((partition, name)),
        _ => Err(MachineError::corrupt(SPACE, "a name that is no text")),
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HostRow {
    /// Of the shard's hosts; orders ties, and with an authority's position names its robots lease.
    #[prost(fixed64, tag = "1")]
    pub id: u64,
    #[prost(message, repeated, tag = "2")]
    pub lanes: Vec<LaneRow>,
    #[prost(message, repeated, tag = "3")]
    pub authorities: Vec<AuthorityRow>,
    /// Absent: never contacted.
    #[prost(uint64, optional, tag = "4")]
    pub last_contact_ms: Option<u64>,
    /// In force when the host was last looked at; the place in the ordered sets follows from it.
    #[prost(uint64, tag = "5")]
    pub delay_ms: u64,
    #[prost(uint64, tag = "6")]
    pub back_off_until_ms: u64,
    #[prost(uint32, tag = "7")]
    pub failures: u32,
    #[prost(uint32, tag = "8")]
    pub dns_failures: u32,
    #[prost(uint32, tag = "9")]
    pub response_time_ms: u32,
    /// Shard time since which it has had work without a break.
    #[prost(uint64, tag = "10")]
    pub since_ms: u64,
    #[prost(uint32, tag = "11")]
    pub scheduled: u32,
    /// Earliest due visit.
    #[prost(uint64, optional, tag = "12")]
    pub due_unix_ms: Option<u64>,
    #[prost(uint32, tag = "13")]
    pub errands: u32,
    #[prost(bool, tag = "14")]
    pub errand_turn: bool,
    #[prost(uint32, tag = "15")]
    pub done: u32,
    #[prost(uint64, tag = "16")]
    pub blocked_until_ms: u64,
    #[prost(uint64, tag = "17")]
    pub min_delay_ms: u64,
    #[prost(message, repeated, tag = "18")]
    pub budgets: Vec<BudgetRow>,
    /// No visit is later; 0 = none.
    #[prost(uint64, tag = "19")]
    pub last_due_unix_ms: u64,
    /// Shard time until which a crawl of the shard could miss an idle host's last contact; 0 = not looked at yet.
    #[prost(uint64, tag = "20")]
    pub kept_until_ms: u64,
    /// Nothing of it is leased.
    #[prost(bool, tag = "31")]
    pub paused: bool,
}

/// One (crawl, authority) of a host with queued URLs.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct LaneRow {
    #[prost(uint32, tag = "1")]
    pub crawl: u32,
    /// Position in `authorities`.
    #[prost(uint32, tag = "2")]
    pub authority: u32,
    #[prost(uint32, tag = "3")]
    pub count: u32,
    /// Of the head.
    #[prost(uint32, tag = "4")]
    pub priority: u32,
    #[prost(uint64, tag = "5")]
    pub due_ms: u64,
    #[prost(fixed64, tag = "6")]
    pub fingerprint: u64,
}

/// One authority with its robots state.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct AuthorityRow {
    #[prost(bool, tag = "1")]
    pub https: bool,
    #[prost(uint32, tag = "2")]
    pub port: u32,
    /// 0 unknown, 1 fresh, 2 unreachable, 3 pending.
    #[prost(uint32, tag = "3")]
    pub phase: u32,
    /// 0 nothing known, 1 allow all, 2 rules.
    #[prost(uint32, tag = "4")]
    pub good: u32,
    #[prost(bytes = "vec", tag = "5")]
    pub digest: Vec<u8>,
    #[prost(bool, tag = "6")]
    pub ending: bool,
    #[prost(uint32, tag = "7")]
    pub failures: u32,
    #[prost(uint32, tag = "8")]
    pub attempt: u32,
    #[prost(uint32, tag = "9")]
    pub crawl_delay_ms: u32,
    /// Fresh: Unix ms of its end; unreachable and pending: shard time of the next try.
    #[prost(uint64, tag = "10")]
    pub until_ms: u64,
    #[prost(uint64, tag = "11")]
    pub since_unix_ms: u64,
}

/// What a crawl with a budget spent on the host.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct BudgetRow {
    #[prost(uint32, tag = "1")]
    pub crawl: u32,
    /// Unix ms at which the cycle ends.
    #[prost(uint64, tag = "2")]
    pub ends_unix_ms: u64,
    #[prost(uint64, tag = "3")]
    pub spent: u64,
    /// Not 0: over budget until then.
    #[prost(uint64, tag = "4")]
    pub wait_until_unix_ms: u64,
}
