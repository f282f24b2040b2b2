//! The answers for programs. Numbers that may need 64 bits and name something are hexadecimal strings, for JSON's numbers
//! do not hold them.

use super::tables::{job_state_name, kind_name, state_name};
use proto::admin_v1 as pb;
use serde_json::{Value, json};

fn hex(number: u64) -> String {
    format!("{number:016x}")
}

fn copy(copy: Option<&pb::MapCopy>) -> Value {
    copy.map_or(Value::Null, |copy| {
        json!({
            "version": copy.version,
            "applied_index": copy.applied_index,
            "node": copy.node,
            "proven": copy.proven,
            "leader": known(copy.leader.into()),
            "behind_entries": copy.behind_entries,
        })
    })
}

/// 0 stands for nothing.
fn known(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

pub(super) fn status(answer: &pb::StatusResponse) -> Value {
    json!({
        "copy": copy(answer.copy.as_ref()),
        "founded": answer.copy.as_ref().is_some_and(|copy| copy.version > 0),
        "not_founded": answer.not_founded,
        "cluster_id": hex(answer.cluster_id),
        "suffix_list_digest": hex(answer.suffix_list_digest),
        "canonicalizer_version": answer.canonicalizer_version,
        "replica_target": answer.replica_target,
        "nodes_up": answer.nodes_up,
        "nodes_draining": answer.nodes_draining,
        "nodes_gone": answer.nodes_gone,
        "shards": answer.shards,
        "shards_led": answer.shards_led,
        "jobs_running": answer.jobs_running,
    })
}

pub(super) fn nodes(answer: &pb::NodesResponse) -> Value {
    let node = |node: &pb::Node| {
        json!({
            "node": node.node,
            "incarnation": node.incarnation,
            "address": node.address,
            "state": state_name(node.state()),
            "holds_shards": node.holds_shards,
            "has_store": node.has_store,
            "replicas": node.replicas,
            "leads": node.leads,
            "linked": node.linked,
        })
    };
    let nodes: Vec<Value> = answer.nodes.iter().map(node).collect();
    json!({ "copy": copy(answer.copy.as_ref()), "nodes": nodes })
}

pub(super) fn shards(answer: &pb::ShardsResponse) -> Value {
    let replica = |replica: &pb::Replica| {
        json!({
            "replica": hex(replica.replica),
            "node": replica.node,
            "voter": replica.voter,
        })
    };
    let shard = |shard: &pb::Shard| {
        json!({
            "shard": shard.shard,
            "first": (shard.shard > 0).then(|| hex(shard.first)),
            "last": (shard.shard > 0).then(|| hex(shard.last)),
            "epoch": shard.epoch,
            "replicas": shard.replicas.iter().map(replica).collect::<Vec<_>>(),
            "leader": known(shard.leader.into()),
            "job": known(shard.job),
            "pinned": shard.pinned,
            "preferred_leader": known(shard.preferred_leader.into()),
        })
    };
    let shards: Vec<Value> = answer.shards.iter().map(shard).collect();
    json!({ "copy": copy(answer.copy.as_ref()), "shards": shards })
}

pub(super) fn jobs(answer: &pb::JobsResponse) -> Value {
    let job = |job: &pb::Job| {
        let is_split = job.kind() == pb::JobKind::Split;
        json!({
            "job": job.job,
            "kind": kind_name(job.kind()),
            "state": job_state_name(job.state()),
            "step": job.step,
            "can_be_cancelled": job.can_be_cancelled,
            "reason": job.reason,
            "started_version": job.started_version,
            "ended_version": known(job.ended_version),
            "shard": job.shard,
            "child": known(job.child),
            "at": is_split.then(|| hex(job.at)),
            "next_job": known(job.next_job),
            "node": known(job.node.into()),
            "from": known(job.from.into()),
        })
    };
    let jobs: Vec<Value> = answer.jobs.iter().map(job).collect();
    json!({ "copy": copy(answer.copy.as_ref()), "jobs": jobs })
}

pub(super) fn accepted(accepted: &pb::Accepted) -> Value {
    json!({
        "version": accepted.version,
        "changed": accepted.changed,
        "job": known(accepted.job),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_keep_all_their_bits_and_nothing_is_null() {
        let shard = pb::Shard {
            shard: 2,
            first: 1 << 63 | 1,
            last: u64::MAX,
            ..pb::Shard::default()
        };
        let shown = shards(&pb::ShardsResponse {
            copy: None,
            shards: vec![pb::Shard::default(), shard],
        });
        assert_eq!(shown["shards"][0]["first"], Value::Null);
        assert_eq!(shown["shards"][1]["first"], "8000000000000001");
        assert_eq!(shown["shards"][1]["leader"], Value::Null);
        assert_eq!(shown["copy"], Value::Null);
    }
}
