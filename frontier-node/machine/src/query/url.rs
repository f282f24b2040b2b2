//! What is known of one URL, of a robots body, of waiting outbox rows.

use crate::{
    authority::Authority,
    command::{discover::Item, lease::LeaseKey, lease::LeaseKind},
    error::MachineError,
    keys::{
        self,
        url::{Stored, UrlRow},
    },
    limits,
    machine::Machine,
    overlay::Overlay,
    rows::Rows,
};

/// Where a URL is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UrlState {
    /// Waits in its host's queue.
    Queued,
    /// Leased now.
    Leased,
    /// Waits for its next visit.
    Scheduled,
    /// Had an answer.
    Done,
    /// Removed by a client.
    Removed,
    /// Ended without an answer, with a reason.
    Refused,
}

/// What is known of a URL; meanings as in `frontier.v1.UrlRecord`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlRecord {
    /// Where it is.
    pub state: UrlState,
    /// Empty while it was never tried: then the caller has it.
    pub url: String,
    /// `PageCode` of the last end with an outcome; 0 = none.
    pub last_code: i32,
    /// Its reason.
    pub last_reason: String,
    /// Its HTTP status or 0.
    pub status: u32,
    /// SHA-256 of the last stored payload.
    pub digest: Vec<u8>,
    /// Stores that hold it.
    pub stores: Vec<u32>,
    /// Of the last stored capture.
    pub etag: String,
    /// Of the last stored capture.
    pub last_modified: String,
    /// Attempts at this visit.
    pub attempts: u32,
    /// Unix ms of the last answer.
    pub fetched_unix_ms: u64,
    /// Unix ms of the next visit; 0 = not scheduled.
    pub next_visit_unix_ms: u64,
    /// Answers so far.
    pub visits: u64,
    /// Changes seen.
    pub changes: u64,
    /// Decoded size of the last stored payload.
    pub payload_size_bytes: u64,
    /// Canonical target of the last redirect.
    pub redirect_target: String,
    /// The last stored payload was cut at a limit.
    pub truncated: bool,
    /// Crawl id; 0 while it was never tried.
    pub crawl: u32,
    /// Links from a seed.
    pub depth: u32,
    /// Leases of it that expired, ever: as often it may have been fetched without a report.
    pub lost_leases: u32,
}

impl Machine {
    /// Whether a URL was accepted before. (With a positive answer a leader may drop the URL without a log entry.)
    pub fn is_known(
        &self,
        rows: &dyn Rows,
        partition: u64,
        fingerprint: u64,
    ) -> Result<bool, MachineError> {
        Ok(rows
            .get(&keys::seen::key(partition, fingerprint))?
            .is_some())
    }

    /// What is known of a URL; `None` = never accepted (or forgotten).
    pub fn url_record(
        &self,
        rows: &dyn Rows,
        partition: u64,
        fingerprint: u64,
    ) -> Result<Option<UrlRecord>, MachineError> {
        if !self.is_known(rows, partition, fingerprint)? {
            return Ok(None);
        }
        let row = self
            .url_row(rows, &Overlay::default(), partition, fingerprint)?
            .unwrap_or_default();
        let key = LeaseKey {
            kind: LeaseKind::Page as i32,
            partition,
            fingerprint,
        };
        let state = match row.state() {
            _ if self.leases.get(key).is_some() => UrlState::Leased,
            Stored::Done => UrlState::Done,
            Stored::Removed => UrlState::Removed,
            Stored::Refused => UrlState::Refused,
            Stored::Scheduled if is_scheduled(rows, partition, fingerprint, &row)? => {
                UrlState::Scheduled
            }
            Stored::Scheduled | Stored::Waiting => UrlState::Queued,
        };
        Ok(Some(record(state, row)))
    }

    /// A robots.txt by its digest.
    pub fn robots_body(
        &self,
        rows: &dyn Rows,
        partition: u64,
        digest: &[u8],
    ) -> Result<Option<Vec<u8>>, MachineError> {
        Ok(if digest.len() == 32 {
            rows.get(&keys::robots_body::key(partition, digest))?
        } else {
            None
        })
    }

    /// Outbox rows that wait for delivery, at most `limit`, with their keys.
    pub fn outbox_due(
        &self,
        rows: &dyn Rows,
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Item)>, MachineError> {
        let (from, to) = keys::partitions(keys::outbox::TAG, self.meta.first, self.meta.last);
        let found = rows.scan(&from, &to, limit.min(limits::DISCOVER_ITEMS))?;
        found
            .into_iter()
            .map(|(key, value)| Ok((key, keys::decode(keys::outbox::SPACE, &value)?)))
            .collect()
    }
}

/// A visit that came due left its record alone: the schedule row says whether it still waits for its date.
fn is_scheduled(
    rows: &dyn Rows,
    partition: u64,
    fingerprint: u64,
    row: &UrlRow,
) -> Result<bool, MachineError> {
    let Some((host, _)) = Authority::of(&row.url) else {
        return Ok(false);
    };
    Ok(rows
        .get(&keys::schedule::key(
            partition,
            host,
            row.next_visit_unix_ms,
            fingerprint,
        ))?
        .is_some())
}

pub(super) fn record(state: UrlState, row: UrlRow) -> UrlRecord {
    UrlRecord {
        state,
        url: row.url,
        last_code: row.last_code,
        last_reason: row.last_reason,
        status: row.status,
        digest: row.digest,
        stores: row.stores,
        etag: row.etag,
        last_modified: row.last_modified,
        attempts: row.attempts,
        fetched_unix_ms: row.fetched_unix_ms,
        next_visit_unix_ms: if state == UrlState::Scheduled {
            row.next_visit_unix_ms
        } else {
            0
        },
        visits: row.visits,
        changes: row.changes,
        payload_size_bytes: row.payload_size_bytes,
        redirect_target: row.redirect_target,
        truncated: row.truncated,
        crawl: row.crawl,
        depth: row.depth,
        lost_leases: row.lost_leases,
    }
}
