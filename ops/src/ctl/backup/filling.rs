//! One shard of the new cluster, out of the files of those it takes the place of.
//!
//! Batches are numbered by the blocks of all files in order, whatever of them is this shard's: so a restore that was interrupted
//! sends the same batches under the same numbers, and leaves out those that were taken.

use super::super::ask::End;
use super::manifest::{FileEntry, Manifest, ShardEntry};
use super::row_file::RowBlocks;
use super::step::Target;
use crate::output::CommandError;
use machine::backup::{self, BackupRow, Begun, RowList};
use machine::command::restore::Page;
use machine::limits::DISCOVER_ITEMS;
use pb::restore_shard_request::Step;
use prost::Message;
use proto::admin_v1 as pb;
use std::collections::BTreeSet;
use std::path::Path;

/// A backup that was read whole once.
pub(super) struct Backup<'a> {
    pub(super) dir: &'a Path,
    pub(super) manifest: &'a Manifest,
}

/// A shard's range, inclusive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) first: u64,
    pub(super) last: u64,
}

/// What came into a shard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filled {
    pub(super) rows: u64,
    pub(super) again: u64,
}

impl Range {
    const fn holds(&self, partition: u64) -> bool {
        self.first <= partition && partition <= self.last
    }

    const fn meets(&self, shard: &ShardEntry) -> bool {
        self.first <= shard.last && shard.first <= self.last
    }

    fn has(&self, row: &BackupRow) -> bool {
        backup::partition(&row.key).is_none_or(|partition| self.holds(partition))
    }
}

/// Sends a shard's rows until its machine is built.
pub(super) async fn fill(
    backup: &Backup<'_>,
    target: &mut Target<'_>,
    range: Range,
) -> Result<Filled, End> {
    let begun = target.step(Step::Begin(begin(backup.manifest))).await?;
    let mut filling = Filling {
        backup,
        target,
        range,
        taken: begun.sequence,
        sequence: 0,
        filled: Filled::default(),
    };
    filling.begin_parts().await?;
    let late = filling.cuts().await?;
    let Filling { mut filled, .. } = filling;
    target.step(Step::Build(pb::RestoreBuild {})).await?;
    for pages in late.chunks(DISCOVER_ITEMS) {
        let pages = pages.iter().map(|page| pb::RestorePage {
            partition: page.partition,
            fingerprint: page.fingerprint,
        });
        let again = pb::RestoreAgain {
            pages: pages.collect(),
        };
        filled.again += target.step(Step::Again(again)).await?.queued;
    }
    Ok(filled)
}

fn begin(manifest: &Manifest) -> pb::RestoreBegin {
    let highest = |of: fn(&ShardEntry) -> u64| manifest.shards.iter().map(of).max();
    let dead_stores = manifest.shards.iter().flat_map(|s| &s.dead_stores);
    let dead_stores: BTreeSet<u32> = dead_stores.copied().collect();
    pb::RestoreBegin {
        now_ms: highest(|shard| shard.now_ms).unwrap_or(0),
        token: highest(|shard| shard.token).unwrap_or(0),
        outbox_sequence: highest(|shard| shard.outbox_sequence).unwrap_or(0),
        paused: manifest.shards.iter().any(|shard| shard.paused),
        dead_stores: dead_stores.into_iter().collect(),
    }
}

struct Filling<'a, 'b> {
    backup: &'a Backup<'a>,
    target: &'a mut Target<'b>,
    range: Range,
    /// Newest batch that an earlier run brought.
    taken: u64,
    /// Of the newest block that was read or passed over.
    sequence: u64,
    filled: Filled,
}

impl Filling<'_, '_> {
    /// Crawls of every shard, and what waited in the outbox when the backup began.
    async fn begin_parts(&mut self) -> Result<(), End> {
        let backup = self.backup;
        for shard in &backup.manifest.shards {
            let mut blocks = RowBlocks::open(backup.dir, &shard.begin)?;
            while let Some(list) = blocks.next()? {
                let is_kept = |row: &BackupRow| {
                    backup::partition(&row.key).is_none() || backup::is_outbox(&row.key)
                };
                self.send(shard, list, is_kept).await?;
            }
        }
        Ok(())
    }

    /// All rows of the shards that this one meets; the pages that are to be fetched again.
    async fn cuts(&mut self) -> Result<Vec<Page>, End> {
        let backup = self.backup;
        let mut late = Vec::new();
        for shard in &backup.manifest.shards {
            if !self.range.meets(shard) {
                self.sequence += shard.cut.blocks;
                continue;
            }
            let begun = begun(backup, shard)?;
            let mut blocks = RowBlocks::open(backup.dir, &shard.cut)?;
            while let Some(list) = blocks.next()? {
                for row in list.rows.iter().filter(|row| self.range.has(row)) {
                    let page = begun.is_late(row);
                    late.extend(page.map_err(|error| unreadable(&shard.cut, &error))?);
                }
                self.send(shard, list, |_| true).await?;
            }
        }
        Ok(late)
    }

    async fn send(
        &mut self,
        source: &ShardEntry,
        mut list: RowList,
        is_kept: impl Fn(&BackupRow) -> bool,
    ) -> Result<(), End> {
        self.sequence += 1;
        list.rows.retain(|row| self.range.has(row) && is_kept(row));
        self.filled.rows += list.rows.len() as u64;
        if list.rows.is_empty() || self.sequence <= self.taken {
            return Ok(());
        }
        let rows = pb::RestoreRows {
            sequence: self.sequence,
            source_now_ms: source.now_ms,
            rows: list.encode_to_vec().into(),
        };
        self.target.step(Step::Rows(rows)).await?;
        Ok(())
    }
}

/// What was known of a shard when the backup began.
fn begun(backup: &Backup<'_>, shard: &ShardEntry) -> Result<Begun, CommandError> {
    let mut begun = Begun {
        token: shard.begin_token,
        ..Begun::default()
    };
    let mut blocks = RowBlocks::open(backup.dir, &shard.begin)?;
    while let Some(list) = blocks.next()? {
        for row in &list.rows {
            begun
                .take(row)
                .map_err(|error| unreadable(&shard.begin, &error))?;
        }
    }
    Ok(begun)
}

fn unreadable(file: &FileEntry, error: &machine::MachineError) -> CommandError {
    CommandError::of(&format!("{} does not fit this program", file.name), error)
}
