//! `restore`: a new, empty cluster becomes what a backup was, in shards of its own.
//!
//! Everything is read and checked before anything changes: the backup whole, the cluster's identity, every shard. Then all
//! shards are filled, then all serve. Run again after an interruption it goes on where it was.

use super::super::ask::{Asker, End};
use super::args::RestoreArgs;
use super::filling::{Backup, Filled, Range, fill};
use super::manifest::{Manifest, is_whole};
use super::step::Target;
use crate::output;
use client::{Admin, AdminError};
use pb::restore_shard_request::Step;
use proto::admin_v1 as pb;
use serde_json::json;
use std::path::Path;

/// Restores a backup into a cluster that was founded for it.
pub(in crate::ctl) async fn run(asker: &mut Asker, args: &RestoreArgs) -> Result<(), End> {
    let manifest = Manifest::read(&args.dir)?;
    manifest.verify(&args.dir)?;
    check_identity(asker, &args.dir, &manifest).await?;
    let shards = targets(asker).await?;
    let plan = Plan::of(asker, &manifest, &shards).await?;
    if args.check {
        return show_check(asker, &manifest, &plan);
    }
    let backup = Backup {
        dir: &args.dir,
        manifest: &manifest,
    };
    let mut sum = Filled::default();
    for part in plan.parts.iter().filter(|part| part.stage != Stage::Closed) {
        let shard = part.shard;
        output::note(format_args!("escapement: shard {shard}"));
        let mut target = Target::new(asker.admin(), shard, manifest.id());
        let filled = fill(&backup, &mut target, part.range).await?;
        (sum.rows, sum.again) = (sum.rows + filled.rows, sum.again + filled.again);
    }
    let mut longest_ms = 0;
    for part in &plan.parts {
        let mut target = Target::new(asker.admin(), part.shard, manifest.id());
        target.step(Step::Close(pb::RestoreClose {})).await?;
        longest_ms = longest_ms.max(target.recover().await?);
    }
    show(asker, &plan, sum, longest_ms)
}

/// Names and fingerprints of URLs must be the backup's.
async fn check_identity(asker: &mut Asker, dir: &Path, manifest: &Manifest) -> Result<(), End> {
    let secret = manifest.secret(dir)?;
    let founding = asker.ask(async |admin| admin.founding().await).await?;
    let differs = if *founding.fingerprint_secret != secret {
        "the fingerprint secret: found the cluster with --fingerprint-secret and the backup's file `secret`"
    } else if founding.canonicalizer_version != manifest.canonicalizer_version {
        "the canonicaliser's version"
    } else if founding.suffix_list_digest != manifest.suffix_list_digest {
        "the suffix list: found the cluster with the list that the backup's had"
    } else {
        return Ok(());
    };
    Err(End::Refused(format!(
        "the backup is of another identity than this cluster; what differs is {differs}"
    )))
}

/// The shards of the new cluster, by first hash. A cluster that was just started is waited for.
async fn targets(asker: &mut Asker) -> Result<Vec<pb::Shard>, End> {
    let whole = async |admin: &Admin| {
        let shards = admin.shards().await?.shards.into_iter();
        let mut shards: Vec<pb::Shard> = shards.filter(|shard| shard.shard != 0).collect();
        shards.sort_by_key(|shard| shard.first);
        if is_whole(shards.iter().map(|shard| (shard.first, shard.last))) {
            return Ok(shards);
        }
        let reason = "the cluster's shards are not the whole range yet";
        Err(AdminError::Unavailable(reason.to_owned()))
    };
    asker.ask(whole).await
}

use pb::RestoreStage as Stage;

/// A shard that is to be filled, and how far that is.
struct Part {
    shard: u64,
    range: Range,
    stage: Stage,
}

/// What is to be done.
struct Plan {
    parts: Vec<Part>,
}

impl Plan {
    /// Looks at every shard; one that cannot be filled refuses all.
    async fn of(asker: &Asker, manifest: &Manifest, shards: &[pb::Shard]) -> Result<Self, End> {
        let mut parts = Vec::new();
        for entry in shards {
            let shard = entry.shard;
            let look = Target::new(asker.admin(), shard, 0).look().await?;
            let refused = |reason: &str| Err(End::Refused(format!("shard {shard}: {reason}")));
            let stage = look.stage();
            if stage == Stage::None && !look.refused.is_empty() {
                return refused(&look.refused);
            }
            if stage != Stage::None && look.restore != manifest.id() {
                return refused("another backup is, or was, restored into it");
            }
            let range = Range {
                first: entry.first,
                last: entry.last,
            };
            parts.push(Part {
                shard,
                range,
                stage,
            });
        }
        if parts.iter().all(|part| part.stage == Stage::Closed) {
            let reason = "this backup was restored into this cluster before";
            return Err(End::Refused(reason.to_owned()));
        }
        Ok(Self { parts })
    }
}

fn show_check(asker: &Asker, manifest: &Manifest, plan: &Plan) -> Result<(), End> {
    let (old, new) = (manifest.shards.len(), plan.parts.len());
    asker.show(
        || json!({ "is_whole": true, "backup_shards": old, "shards": new }),
        || format!("the backup is whole; its {old} shards can become the {new} of this cluster"),
    )
}

fn show(asker: &Asker, plan: &Plan, sum: Filled, longest_ms: u64) -> Result<(), End> {
    let (shards, rows, again) = (plan.parts.len(), sum.rows, sum.again);
    asker.show(
        || json!({ "shards": shards, "rows": rows, "fetched_again": again, "hosts_wait_ms": longest_ms }),
        || {
            format!(
                "{shards} shards with {rows} rows serve; {again} pages that were reported during the backup are fetched again; \
                 hosts wait {} s, for the longest lease that the lost cluster may have granted",
                longest_ms.div_ceil(1_000)
            )
        },
    )
}
