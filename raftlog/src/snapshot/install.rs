//! Installing a staged snapshot: one ingestion replaces all rows of the group, with its applied index.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rocksdb::{IngestExternalFileOptions, Options, SstFileWriter};

use super::foreign::foreign_owner;
use super::stage::{Staged, Stager};
use super::{Export, SnapshotData};
use crate::fault::{DiskStep, Rule};
use crate::group::{AppliedState, Instance, owned_row};
use crate::health::classify;
use crate::metrics::add;
use crate::raft_types::SnapshotMeta;
use crate::rows::KeyRange;
use crate::state::{table_options, user_bounds};

/// Installs a snapshot. An error stops the group; its rows are then as before or all replaced.
pub(crate) async fn install(
    instance: &Arc<Instance>,
    meta: &SnapshotMeta,
    data: SnapshotData,
) -> io::Result<()> {
    let staged = match data {
        SnapshotData::Staged(staged) => staged,
        SnapshotData::Export(data) => stage_export(instance, meta, data).await?,
        SnapshotData::Flushed(source) => {
            stage_export(instance, meta, source.export().await?.1).await?
        }
    };
    if staged.meta != *meta {
        return Err(io::Error::other("the staged snapshot is another one"));
    }
    let there = Arc::clone(instance);
    let work = move || ingest(&there, &staged);
    instance
        .shared
        .apply_lanes
        .run(instance.group_id, work)
        .await
        .map_err(io::Error::other)?
}

/// Stages rows that are read on this node.
async fn stage_export(
    instance: &Arc<Instance>,
    meta: &SnapshotMeta,
    mut data: Export,
) -> io::Result<Staged> {
    let _reader_gone = data.start.send(());
    let mut stager =
        Stager::start(&instance.shared, meta.clone(), data.ranges).map_err(io::Error::other)?;
    while let Some(rows) = data.chunks.recv().await {
        stager
            .add(rows.map_err(io::Error::other)?)
            .await
            .map_err(io::Error::other)?;
    }
    stager.finish().await.map_err(io::Error::other)
}

fn ingest(instance: &Instance, staged: &Staged) -> io::Result<()> {
    refuse_older_rows(instance, staged)?;
    // As they are stored: what a group founded since then took away is not theirs to delete.
    let own = if instance.shared.is_off(Rule::InstallSparesChildren) {
        instance.first_ranges.clone()
    } else {
        let own = instance.ranges();
        refuse_foreign_rows(instance, own.iter().chain(&staged.ranges))?;
        own
    };
    let retired = instance.retired.lock();
    if *retired {
        return Err(io::Error::other("the replica was removed"));
    }
    let next = AppliedState {
        log_id: staged.meta.last_log_id,
        membership: staged.meta.last_membership.clone(),
    };
    let head = staged.dir.join("000000.sst");
    let shared = &instance.shared;
    let table = table_options(&shared.options, &shared.state_cache);
    let failed = |error: &dyn std::fmt::Display| {
        shared.health.fail(classify(&error.to_string()));
        io::Error::other(error.to_string())
    };
    let mut rows = next.rows(instance.group_id);
    rows.push(owned_row(instance.group_id, &staged.ranges));
    write_head(&table, &head, rows, own.iter().chain(&staged.ranges))
        .map_err(|error| failed(&error))?;
    let files: Vec<_> = std::iter::once(&head).chain(&staged.files).collect();
    let db = shared
        .state_cell
        .get_at(instance.generation)
        .map_err(io::Error::other)?;
    // Whoever owned these rows before gave them away in rows that may be in memory only: lost, they would be its again.
    if let Some(reason) = shared.health.failure() {
        return Err(io::Error::other(reason));
    }
    shared.flush_state(&db).map_err(|error| failed(&error))?;
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(true);
    shared
        .before(DiskStep::Ingest)
        .map_err(|error| failed(&error))?;
    db.ingest_external_file_opts(&options, files)
        .map_err(|error| failed(&error))?;
    // Ingested files are durable, so the group is flushed up to here.
    *instance.applied.lock() = next.clone();
    *instance.flushed.lock() = next;
    add(&shared.counters.snapshots_installed, 1);
    instance.restore().map_err(|error| {
        instance.stop_with(crate::StopReason::Machine(error.0.clone()));
        io::Error::other(error)
    })
}

/// Rows never go back: what lies beyond may have founded groups that live beside this one.
fn refuse_older_rows(instance: &Instance, staged: &Staged) -> io::Result<()> {
    let applied = instance.applied.lock().log_id;
    if staged.meta.last_log_id < applied {
        return Err(io::Error::other(
            "the staged snapshot is older than the rows",
        ));
    }
    Ok(())
}

/// Rows that another group of this node owns are neither replaced nor deleted.
fn refuse_foreign_rows<'a>(
    instance: &Instance,
    ranges: impl Iterator<Item = &'a KeyRange> + Clone,
) -> io::Result<()> {
    match foreign_owner(instance, ranges).map_err(io::Error::other)? {
        None => Ok(()),
        Some(owner) => Err(io::Error::other(format!(
            "group {owner} owns rows of the snapshot"
        ))),
    }
}

/// The first file: the group's own rows, and the removal of all its users' rows. Later files are newer than it.
fn write_head<'a>(
    options: &Options,
    path: &Path,
    rows: Vec<([u8; 10], Vec<u8>)>,
    ranges: impl Iterator<Item = &'a KeyRange>,
) -> Result<(), rocksdb::Error> {
    let mut writer = SstFileWriter::create(options);
    writer.open(path)?;
    for (key, value) in rows {
        writer.put(key, value)?;
    }
    for range in ranges.filter(|range| !range.is_empty()) {
        let (start, end) = user_bounds(range);
        writer.delete_range(start, end)?;
    }
    writer.finish()
}
