//! What the handle tells: pages, records, scrubs, counts.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::PageStore;
use crate::digest::Digest;
use crate::disk::{Disk, OsDisk};
use crate::error::GetError;
use crate::page::Page;
use crate::records::Records;
use crate::scrub::{self, ScrubReport};
use crate::stats::StoreStats;

impl PageStore {
    /// Reads a payload and verifies it; nothing if it is not here. Blocks on the disk.
    pub fn get(&self, digest: &Digest) -> Result<Option<Page>, GetError> {
        let row = self
            .0
            .index
            .get(digest)
            .map_err(|error| GetError::Index(error.message))?;
        row.map(|row| crate::read::page(&self.0.dir, row.place, digest))
            .transpose()
    }

    /// Whether a payload is here, durable. Blocks on the disk at worst for one block of the index.
    pub fn contains(&self, digest: &Digest) -> Result<bool, GetError> {
        let row = self
            .0
            .index
            .get(digest)
            .map_err(|error| GetError::Index(error.message))?;
        Ok(row.is_some())
    }

    /// All records that are durable now, in the order written. Blocks on the disk.
    pub fn records(&self) -> Records {
        Records::new(&self.0.dir, self.0.index.marks())
    }

    /// Reads and verifies every record. Blocks on the disk; puts go on meanwhile.
    pub fn scrub(&self) -> ScrubReport {
        self.scrub_watched(&mut |_| ControlFlow::Continue(()))
    }

    /// The same; `watch` gets what was read so far after each record, and ends the scrub with `Break`.
    pub fn scrub_watched(
        &self,
        watch: &mut dyn FnMut(&ScrubReport) -> ControlFlow<()>,
    ) -> ScrubReport {
        scrub::scrub(&self.0.dir, &self.0.index, watch)
    }

    /// Bytes that may still be written to the file system of this store. Blocks on the system.
    pub fn free_bytes(&self) -> std::io::Result<u64> {
        OsDisk.free_bytes(&self.0.dir)
    }

    /// The largest payload that is accepted.
    pub fn payload_max_size_bytes(&self) -> u64 {
        self.0.payload_max_size_bytes
    }

    /// Counts, without touching the disk.
    pub fn stats(&self) -> StoreStats {
        let mut stats = StoreStats {
            fsyncs: self.0.fsyncs.load(Ordering::Relaxed),
            ..StoreStats::default()
        };
        for mark in self.0.index.marks().into_values() {
            stats.segments += 1;
            stats.records += mark.records;
            stats.bytes += mark.end_bytes;
            stats.payloads += mark.payloads;
            stats.payload_bytes += mark.payload_bytes;
            stats.duplicates += mark.duplicates;
            stats.unmodified += mark.unmodified;
        }
        stats
    }

    /// The store's directory.
    pub fn dir(&self) -> &Path {
        &self.0.dir
    }
}
