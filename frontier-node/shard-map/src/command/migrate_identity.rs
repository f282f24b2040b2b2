//! `migrate_identity`: another suffix list, canonicaliser or fingerprint key, for a cluster without URLs.

use crate::{
    model::{Identity, ShardMap},
    refusal::Refusal,
};

/// Changes what all processes agree on. Under a new identity the same URL has another name or another owner, so none
/// may be there:
///
/// - every crawl is removed, so that no shard accepts a URL any more;
/// - every shard was found without URLs and leases after that, by proof of its leader, at its present epoch;
/// - no job is under way.
///
/// Processes that have the old identity are refused from then on. Sent again it changes nothing.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct MigrateIdentity {
    /// The present one, as the caller knows it.
    #[prost(message, required, tag = "1")]
    pub from: Identity,
    /// The next one.
    #[prost(message, required, tag = "2")]
    pub to: Identity,
    /// Every shard.
    #[prost(message, repeated, tag = "3")]
    pub empty: Vec<EmptyShard>,
}

/// A shard that was found without URLs.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct EmptyShard {
    /// The shard.
    #[prost(uint64, tag = "1")]
    pub shard: u64,
    /// Its epoch then.
    #[prost(uint64, tag = "2")]
    pub epoch: u64,
    /// The map's version that its leader had taken before it looked: the removal of every crawl is in it.
    #[prost(uint64, tag = "3")]
    pub map_version: u64,
}

impl MigrateIdentity {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        if next.identity == self.to {
            return Ok(None);
        }
        next.identity.require(&self.from)?;
        if let Some(job) = next.running_jobs().next() {
            return Err(not_drained(format!("job {} is running", job.id)));
        }
        if let Some(crawl) = next.crawls.iter().find(|crawl| !crawl.removed) {
            return Err(not_drained(format!("crawl {} is not removed", crawl.id)));
        }
        let changed = next.crawls.iter().map(|c| c.changed_version).max();
        for shard in &next.shards {
            let found = self.empty.iter().find(|empty| empty.shard == shard.id);
            let Some(found) = found else {
                return Err(not_drained(format!("shard {} may have URLs", shard.id)));
            };
            if found.epoch != shard.members.epoch {
                return Err(Refusal::StaleEpoch {
                    shard: shard.id,
                    given: found.epoch,
                    current: shard.members.epoch,
                });
            }
            if Some(found.map_version) < changed {
                return Err(not_drained(format!(
                    "shard {} was looked at before the last crawl was removed",
                    shard.id
                )));
            }
        }
        next.identity = self.to;
        Ok(None)
    }
}

const fn not_drained(why: String) -> Refusal {
    Refusal::NotDrained(why)
}
