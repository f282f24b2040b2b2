//! M5: versions, epochs, issued ids and incarnations only grow; no replica id comes back; no group has fewer voters
//! than before, but for one that went on with a single new voter after its quorum was lost; a shard loses hashes to a new shard only; an ended job stays as it ended.

use super::{Broken, ensure};
use crate::model::{Members, NodeState, ShardMap};

const NUMBER: &str = "M5";

pub(super) fn check(before: &ShardMap, after: &ShardMap) -> Result<(), Broken> {
    let is_newer = after.version > before.version || before == after;
    ensure(is_newer, NUMBER, || {
        "a change did not raise the version".to_owned()
    })?;
    if !before.is_founded() {
        return Ok(());
    }
    let counters = |map: &ShardMap| (map.next_shard, map.next_job);
    let (old, new) = (counters(before), counters(after));
    ensure(old.0 <= new.0 && old.1 <= new.1, NUMBER, || {
        "a counter went back".to_owned()
    })?;
    ensure(before.cluster_id == after.cluster_id, NUMBER, || {
        "the cluster became another".to_owned()
    })?;
    for (group, old) in before.groups() {
        let new = after.members(group);
        ensure(new.is_some(), NUMBER, || format!("group {group} is lost"))?;
        check_members(group, old, new.unwrap_or(old))?;
    }
    check_ranges(before, after)?;
    check_nodes(before, after)?;
    for job in before.jobs.iter().filter(|job| !job.is_running()) {
        let is_same = after.job(job.id).is_none_or(|now| now == job);
        ensure(is_same, NUMBER, || {
            format!("job {} changed after its end", job.id)
        })?;
    }
    Ok(())
}

fn check_members(group: u64, old: &Members, new: &Members) -> Result<(), Broken> {
    let is_newer =
        new.epoch > old.epoch || (new.epoch == old.epoch && new.replicas == old.replicas);
    ensure(is_newer, NUMBER, || {
        format!("the epoch of group {group} did not grow")
    })?;
    let mut voters = new.voters();
    let is_recovered =
        matches!((voters.next(), voters.next()), (Some(sole), None) if !old.has(sole.replica_id()));
    let is_kept = is_recovered || new.voters().count() >= old.voters().count();
    ensure(is_kept, NUMBER, || {
        format!("group {group} has fewer voters")
    })?;
    for replica in new.replicas.iter().filter(|r| !old.has(r.replica_id())) {
        let is_new = old.newest_issued(replica.node()) < Some(replica.replica_id());
        ensure(is_new, NUMBER, || {
            format!("replica {} of group {group} came back", replica.id)
        })?;
    }
    let grow = old.issued.iter().all(|id| {
        let id = crate::model::ReplicaId(*id);
        new.newest_issued(id.node()) >= Some(id)
    });
    ensure(grow, NUMBER, || {
        format!("group {group} forgot an id that it issued")
    })
}

fn check_ranges(before: &ShardMap, after: &ShardMap) -> Result<(), Broken> {
    for shard in &after.shards {
        let holds = match before.shard(shard.id) {
            Some(old) => {
                let is_same = (old.first, old.last) == (shard.first, shard.last);
                let is_newer = shard.members.epoch > old.members.epoch;
                old.holds(shard.first) && old.holds(shard.last) && (is_same || is_newer)
            }
            None => shard.id >= before.next_shard || before.job_of_shard(shard.id).is_some(),
        };
        ensure(holds, NUMBER, || {
            format!("the range of shard {} grew, or kept its epoch", shard.id)
        })?;
    }
    Ok(())
}

fn check_nodes(before: &ShardMap, after: &ShardMap) -> Result<(), Broken> {
    for old in &before.nodes {
        let holds = after.node(old.number).is_some_and(|new| {
            let is_revived = old.state() == NodeState::Gone && new.state() != NodeState::Gone;
            new.incarnation > old.incarnation || (new.incarnation == old.incarnation && !is_revived)
        });
        ensure(holds, NUMBER, || {
            format!("node {} went back to an older incarnation", old.number)
        })?;
    }
    Ok(())
}
