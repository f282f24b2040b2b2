//! `backup`: what every shard has when it begins, then a cut of each, then the manifest, with which the backup is whole.
//!
//! The cuts are made one after another. What was acknowledged before the backup began is in them; of what came meanwhile some
//! is and some is not, and `restore` makes that right ([`machine::backup`]).

use super::super::ask::{Asker, End};
use super::args::BackupArgs;
use super::manifest::{
    FileEntry, MANIFEST, MAP, Manifest, SECRET, ShardEntry, is_whole, write_file,
};
use super::row_file::{RowFile, failed};
use super::step::CopyError;
use crate::output::{self, CommandError};
use crate::patience::Patience;
use client::{Admin, AdminError};
use proto::admin_v1 as pb;
use serde_json::json;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Takes the backup of a cluster.
pub(in crate::ctl) async fn run(asker: &mut Asker, args: &BackupArgs) -> Result<(), End> {
    let made = make_dir(&args.dir)?;
    match take(asker, &args.dir).await {
        Ok(manifest) => show(asker, &args.dir, &manifest),
        Err(end) => {
            clear(&args.dir, made);
            Err(end)
        }
    }
}

async fn take(asker: &mut Asker, dir: &Path) -> Result<Manifest, End> {
    let founding = asker.ask(async |admin| admin.founding().await).await?;
    let map = asker.ask(async |admin| admin.map().await).await?.map;
    let shards = asker.ask(async |admin| admin.shards().await).await?.shards;
    let mut shards: Vec<pb::Shard> = shards.into_iter().filter(|s| s.shard != 0).collect();
    shards.sort_by_key(|shard| shard.first);
    if !is_whole(shards.iter().map(|shard| (shard.first, shard.last))) {
        let reason = "the shard map is not whole at this moment: try again";
        return Err(End::Unavailable(reason.to_owned()));
    }
    write_file(
        dir,
        SECRET,
        hex::encode(&founding.fingerprint_secret).as_bytes(),
        0o600,
    )?;
    write_file(dir, MAP, &map, 0o644)?;
    let mut manifest = Manifest::new(&founding, &map, now_unix_ms());
    let admin = asker.admin();
    let mut begun = Vec::new();
    // All of them before the first cut.
    for shard in &shards {
        begun.push(copy(admin, dir, shard.shard, true).await?);
    }
    for (shard, begun) in shards.iter().zip(begun) {
        output::note(format_args!("escapement: shard {}", shard.shard));
        let cut = copy(admin, dir, shard.shard, false).await?;
        manifest.shards.push(entry(begun, cut)?);
    }
    if !is_whole(
        manifest
            .shards
            .iter()
            .map(|shard| (shard.first, shard.last)),
    ) {
        return Err(reshaped());
    }
    manifest.ended_unix_ms = now_unix_ms();
    manifest.write(dir)?;
    Ok(manifest)
}

/// A shard's part, at the moment of its header.
struct Copied {
    header: pb::ExportHeader,
    file: FileEntry,
}

fn entry(begun: Copied, cut: Copied) -> Result<ShardEntry, End> {
    let shape = |header: &pb::ExportHeader| (header.first, header.last, header.epoch);
    if shape(&begun.header) != shape(&cut.header) {
        return Err(reshaped());
    }
    let header = cut.header;
    Ok(ShardEntry {
        shard: header.shard,
        first: header.first,
        last: header.last,
        epoch: header.epoch,
        applied_index: header.applied_index,
        now_ms: header.now_ms,
        token: header.token,
        outbox_sequence: header.outbox_sequence,
        paused: header.paused,
        dead_stores: header.dead_stores,
        begin_token: begun.header.token,
        begin: begun.file,
        cut: cut.file,
    })
}

fn reshaped() -> End {
    End::Undone("a shard was split meanwhile: nothing was kept, take the backup again".to_owned())
}

/// Copies one part of a shard; a stream that breaks is begun anew.
async fn copy(admin: &Admin, dir: &Path, shard: u64, begin: bool) -> Result<Copied, End> {
    let part = if begin { "begin" } else { "cut" };
    let name = format!("shard-{shard:05}-{part}.rows");
    let request = pb::ExportRequest { shard, begin };
    let mut patience = Patience::new();
    let copied = patience.until(async || copy_once(admin, dir, &name, request).await);
    Ok(copied.await?)
}

async fn copy_once(
    admin: &Admin,
    dir: &Path,
    name: &str,
    request: pb::ExportRequest,
) -> Result<Copied, CopyError> {
    use pb::export_part::Part;
    let mut export = admin.export(request).await?;
    let broken = |reason: &str| AdminError::Unavailable(format!("an export {reason}"));
    let mut header = None;
    let mut file = RowFile::create(dir, name)?;
    loop {
        match export.next().await? {
            Some(Part::Header(first)) if header.is_none() => header = Some(first),
            Some(Part::Rows(rows)) if header.is_some() => {
                file.add(&rows)?;
            }
            Some(Part::End(end)) if end.rows == file.rows() => break,
            Some(_) => return Err(broken("whose parts make no sense").into()),
            None => return Err(broken("ended early").into()),
        }
    }
    let header = header.ok_or_else(|| broken("without a header"))?;
    let file = file.finish()?;
    Ok(Copied { header, file })
}

/// Makes the directory, or takes an empty one. True if it was made.
fn make_dir(dir: &Path) -> Result<bool, End> {
    match std::fs::create_dir(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let mut entries = std::fs::read_dir(dir).map_err(|e| failed("read", dir, e))?;
            if entries.next().is_none() {
                return Ok(false);
            }
            let what = if dir.join(MANIFEST).exists() {
                "it holds a backup"
            } else {
                "if it holds a backup that was interrupted, remove that"
            };
            let dir = dir.display();
            Err(End::Refused(format!("{dir} is not empty: {what}")))
        }
        Err(error) => Err(End::Failed(failed("make", dir, error))),
    }
}

/// Half a backup is none, and its disk may be full of it.
fn clear(dir: &Path, made: bool) {
    let removed: Result<(), std::io::Error> = (|| {
        for entry in std::fs::read_dir(dir)? {
            std::fs::remove_file(entry?.path())?;
        }
        if made {
            std::fs::remove_dir(dir)
        } else {
            Ok(())
        }
    })();
    if let Err(error) = removed {
        output::note(CommandError::io(
            format!("cannot clear {}", dir.display()),
            error,
        ));
    }
}

fn show(asker: &Asker, dir: &Path, manifest: &Manifest) -> Result<(), End> {
    let files = manifest.shards.iter().flat_map(|s| [&s.begin, &s.cut]);
    let (rows, size_bytes) = files.fold((0, 0), |(rows, size), file| {
        (rows + file.rows, size + file.size_bytes)
    });
    let shards = manifest.shards.len();
    asker.show(
        || {
            json!({
                "dir": dir, "shards": shards, "rows": rows, "size_bytes": size_bytes,
                "backup": format!("{:016x}", manifest.id()),
            })
        },
        || {
            format!(
                "{}: {shards} shards, {rows} rows, {size_bytes} bytes. It holds the cluster's secret; pages are not in it.",
                dir.display()
            )
        },
    )
}

fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_directory_is_taken_and_half_a_backup_goes() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("new");
        assert!(make_dir(&new).unwrap());
        assert!(!make_dir(&new).unwrap());
        std::fs::write(new.join("shard-00001-cut.rows"), b"half").unwrap();
        assert!(make_dir(&new).is_err());
        clear(&new, true);
        assert!(!new.exists());
        assert!(make_dir(&dir.path().join("none/below")).is_err());
    }
}
