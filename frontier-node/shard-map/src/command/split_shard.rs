//! `split_shard`: a job that makes two shards of one.

use super::{checks, jobs};
use crate::{
    limits,
    model::{GROUP_ZERO, Plan, Shard, ShardMap, SplitPlan},
    refusal::Refusal,
};

/// A shard in two. The child takes what begins at a hash; replicas stay on their nodes and no data is copied.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct SplitShard {
    /// The shard.
    #[prost(uint64, tag = "1")]
    pub shard: u64,
    /// Its epoch, as the caller saw it.
    #[prost(uint64, tag = "2")]
    pub epoch: u64,
    /// The child's first hash, or the site to stand alone.
    #[prost(fixed64, tag = "3")]
    pub at: u64,
    /// One site is to stand alone: if it is neither first nor last in the range, a second split of the child follows by
    /// itself.
    #[prost(bool, tag = "4")]
    pub alone: bool,
}

impl SplitShard {
    pub(super) fn apply(&self, next: &mut ShardMap, request: u64) -> Result<Option<u64>, Refusal> {
        if self.shard == GROUP_ZERO {
            return Err(Refusal::Invalid("group 0 has no range to split"));
        }
        checks::free_group(next, self.shard, self.epoch)?;
        let shard = next.shard(self.shard);
        let shard = shard.ok_or(Refusal::UnknownShard(self.shard))?;
        let (at, then_at) = self.cuts(shard)?;
        begin(next, self.shard, at, then_at, request).map(Some)
    }

    fn cuts(&self, shard: &Shard) -> Result<(u64, Option<u64>), Refusal> {
        let outside = Refusal::OutsideRange {
            shard: shard.id,
            at: self.at,
            first: shard.first,
            last: shard.last,
        };
        if self.alone {
            return alone(shard, self.at).ok_or(outside);
        }
        if shard.splits_at(self.at) {
            Ok((self.at, None))
        } else {
            Err(outside)
        }
    }
}

/// The cut, and the cut after it, that leave one hash alone in its shard.
fn alone(shard: &Shard, site: u64) -> Option<(u64, Option<u64>)> {
    let after = site.checked_add(1).filter(|after| shard.splits_at(*after));
    if shard.splits_at(site) {
        return Some((site, after));
    }
    if site == shard.first {
        return after.map(|after| (after, None));
    }
    None
}

/// Enters the job. The shard was checked.
pub(super) fn begin(
    next: &mut ShardMap,
    shard: u64,
    at: u64,
    then_at: Option<u64>,
    request: u64,
) -> Result<u64, Refusal> {
    let coming = next
        .running_jobs()
        .filter(|job| matches!(&job.plan, Some(Plan::Split(s)) if next.shard(s.child).is_none()));
    if next.shards.len() + coming.count() >= limits::SHARDS {
        return Err(Refusal::Limit {
            what: "the number of shards",
            max: limits::SHARDS as u64,
        });
    }
    let members = next.members(shard).ok_or(Refusal::UnknownShard(shard))?;
    let plan = SplitPlan {
        shard,
        child: next.next_shard,
        at,
        voters: members.voters().map(|r| r.id).collect(),
        then_at,
        next_job: 0,
    };
    let job = jobs::begin(next, request, Plan::Split(plan))?;
    next.next_shard += 1;
    Ok(job)
}
