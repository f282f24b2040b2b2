//! What a backup of a shard holds, for whoever writes one and whoever reads it: rows as they are stored, and the few things
//! of them that must be known outside.
//!
//! A backup has two parts of each shard. When it **begins**, before any shard is cut: crawls, which leases are out, and what waits in
//! the outbox ([`begin_ranges`]). The **cut**: all rows but sessions, in one view ([`cut_ranges`]). The first part closes the gap between
//! cuts that are made one after another: a link that waited then may be delivered to a shard after that one's cut and be gone
//! from the sender's, and a page that was reported since ([`Begun::is_late`]) may have sent links so.

use crate::{
    command::restore::Page,
    error::MachineError,
    keys::{self, crawl, lease, meta, outbox, session, url, url::Stored},
    shard_id::ShardId,
};
use std::collections::BTreeSet;

/// A row as it is stored.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct BackupRow {
    /// Tag and what follows it.
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// A protobuf message of `keys`, or a body, or nothing.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// Rows in the order of their keys: the payload of a block of a backup's file, and of a batch of a restore.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RowList {
    /// The rows.
    #[prost(message, repeated, tag = "1")]
    pub rows: Vec<BackupRow>,
}

/// A shard at its cut, from its `meta` row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// First partition hash.
    pub first: u64,
    /// Last partition hash.
    pub last: u64,
    /// Counts changes of the shard's shape.
    pub epoch: u64,
    /// Shard time.
    pub now_ms: u64,
    /// Newest token granted.
    pub token: u64,
    /// Newest sequence of the outbox.
    pub outbox_sequence: u64,
    /// Nothing is leased.
    pub paused: bool,
    /// Stores that are gone for good.
    pub dead_stores: Vec<u32>,
    /// A restore fills it: there is nothing to back up yet.
    pub is_being_restored: bool,
}

impl Cut {
    /// The key of the row that [`Cut::read`] wants.
    pub fn key(shard: ShardId) -> Vec<u8> {
        meta::key(shard)
    }

    /// Reads a `meta` row's value.
    ///
    /// # Errors
    ///
    /// It does not decode.
    pub fn read(value: &[u8]) -> Result<Self, MachineError> {
        let meta: meta::MetaRow = keys::decode(meta::SPACE, value)?;
        let restore = meta.restore.map(|row| row.stage());
        Ok(Self {
            first: meta.first,
            last: meta.last,
            epoch: meta.epoch,
            now_ms: meta.now_ms,
            token: meta.token,
            outbox_sequence: meta.outbox_sequence,
            paused: meta.paused,
            dead_stores: meta.dead_stores,
            is_being_restored: restore
                .is_some_and(|stage| stage != crate::command::restore::Stage::Closed),
        })
    }
}

/// Key ranges (`from <= key < to`) of a shard's cut, ascending.
pub fn cut_ranges(shard: ShardId, cut: &Cut) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut ranges = keys::key_ranges(shard, cut.first, cut.last);
    ranges.retain(|(from, _)| !matches!(from.first(), Some(&(session::TAG | meta::TAG))));
    ranges
}

/// Key ranges of what is kept of a shard when a backup begins.
pub fn begin_ranges(shard: ShardId, cut: &Cut) -> Vec<(Vec<u8>, Vec<u8>)> {
    let of = |tag| keys::partitions(tag, cut.first, cut.last);
    let crawls = keys::partitions(crawl::TAG, shard.0, shard.0);
    vec![crawls, of(lease::TAG), of(outbox::TAG)]
}

/// The partition hash that a row belongs to; `None`: it is a crawl's policy, which each shard has.
pub fn partition(key: &[u8]) -> Option<u64> {
    if key.first() == Some(&crawl::TAG) {
        return None;
    }
    keys::number_at("backup", key, 1).ok()
}

/// Whether a row waits in the outbox.
pub fn is_outbox(key: &[u8]) -> bool {
    key.first() == Some(&outbox::TAG)
}

/// What was known of a shard when the backup began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    /// Newest token granted.
    pub token: u64,
    /// Tokens of the leases that were out.
    pub leased: BTreeSet<u64>,
}

impl Begun {
    /// Takes a row of the first part.
    ///
    /// # Errors
    ///
    /// A lease that does not decode.
    pub fn take(&mut self, row: &BackupRow) -> Result<(), MachineError> {
        if row.key.first() == Some(&lease::TAG) {
            let lease: lease::LeaseRow = keys::decode(lease::SPACE, &row.value)?;
            self.leased.insert(lease.token);
        }
        Ok(())
    }

    /// The page, if a row is the record of one that was reported after the backup began and will not be fetched again unasked.
    ///
    /// # Errors
    ///
    /// A record that does not decode.
    pub fn is_late(&self, row: &BackupRow) -> Result<Option<Page>, MachineError> {
        if row.key.first() != Some(&url::TAG) {
            return Ok(None);
        }
        let record: url::UrlRow = keys::decode(url::SPACE, &row.value)?;
        let ended = matches!(record.state(), Stored::Done | Stored::Scheduled);
        let token = record.closed_token;
        if !ended || (token <= self.token && !self.leased.contains(&token)) {
            return Ok(None);
        }
        let (partition, fingerprint) = url::parse(&row.key)?;
        Ok(Some(Page {
            partition,
            fingerprint,
        }))
    }
}
