//! The map as `admin.v1` shows it.

use proto::admin_v1 as pb;
use shard_map::{GROUP_ZERO, Job, Members, NodeState, Plan, ReplicaId, Role, ShardMap, Step};

use super::reading::Reading;
use crate::cluster::replica_id;
use crate::map::MapNode;

pub(super) fn status(map_node: &MapNode, reading: Reading) -> pb::StatusResponse {
    let map = &reading.view.map;
    let in_state = |state| map.nodes.iter().filter(|n| n.state() == state).count();
    let led = map.shards.iter();
    let led = led.filter(|shard| reading.leaders.contains_key(&shard.id));
    pb::StatusResponse {
        cluster_id: map.cluster_id,
        suffix_list_digest: map.identity.suffix_list_digest,
        canonicalizer_version: map.identity.canonicalizer_version,
        replica_target: map.replica_target,
        nodes_up: number(in_state(NodeState::Up)),
        nodes_draining: number(in_state(NodeState::Draining)),
        nodes_gone: number(in_state(NodeState::Gone)),
        shards: number(map.shards.len()),
        shards_led: number(led.count()),
        jobs_running: number(map.running_jobs().count()),
        not_founded: map_node.not_founded(),
        copy: Some(reading.copy),
    }
}

pub(super) fn nodes(map_node: &MapNode, reading: Reading) -> pb::NodesResponse {
    let map = &reading.view.map;
    let leads = |node: u32| reading.leaders.values().filter(|n| **n == node).count();
    let node = |node: &shard_map::Node| pb::Node {
        node: node.number,
        incarnation: node.incarnation,
        address: node.address.clone(),
        state: match node.state() {
            NodeState::Up => pb::NodeState::Up,
            NodeState::Draining => pb::NodeState::Draining,
            NodeState::Gone => pb::NodeState::Gone,
        }
        .into(),
        holds_shards: node.holds_shards,
        has_store: node.has_store,
        replicas: number(map.replicas_on(node.number)),
        leads: number(leads(node.number)),
        linked: map_node.is_linked(replica_id(node.number, node.incarnation)),
    };
    pb::NodesResponse {
        nodes: map.nodes.iter().map(node).collect(),
        copy: Some(reading.copy),
    }
}

pub(super) fn shards(reading: Reading) -> pb::ShardsResponse {
    let map = &reading.view.map;
    let shard = |(id, members): (u64, &Members)| {
        let range = map.shard(id);
        pb::Shard {
            shard: id,
            first: range.map_or(0, |shard| shard.first),
            last: range.map_or(0, |shard| shard.last),
            epoch: members.epoch,
            replicas: members.replicas.iter().map(replica).collect(),
            leader: reading.leaders.get(&id).copied().unwrap_or(0),
            job: map.job_of_shard(id).map_or(0, |job| job.id),
            pinned: members.pinned.clone(),
            preferred_leader: members.wished_leader,
        }
    };
    pb::ShardsResponse {
        shards: map.groups().map(shard).collect(),
        copy: Some(reading.copy),
    }
}

fn replica(replica: &shard_map::Replica) -> pb::Replica {
    pb::Replica {
        replica: replica.id,
        node: replica.node(),
        voter: replica.role() == Role::Voter,
    }
}

/// All jobs that are remembered, or one.
pub(super) fn jobs(reading: Reading, only: u64) -> pb::JobsResponse {
    let jobs = reading.view.map.jobs.iter();
    let jobs = jobs.filter(|job| only == 0 || job.id == only);
    pb::JobsResponse {
        jobs: jobs.map(job).collect(),
        copy: Some(reading.copy),
    }
}

fn job(job: &Job) -> pb::Job {
    let state = match job.step() {
        Step::Done => pb::JobState::Done,
        Step::Undone => pb::JobState::Undone,
        _ => pb::JobState::Running,
    };
    let shown = pb::Job {
        job: job.id,
        step: job.step().name().to_owned(),
        state: state.into(),
        can_be_cancelled: job.can_be_cancelled(),
        reason: job.reason.clone(),
        started_version: job.started_version,
        ended_version: job.ended_version,
        ..pb::Job::default()
    };
    match &job.plan {
        Some(Plan::Split(split)) => pb::Job {
            kind: pb::JobKind::Split.into(),
            shard: split.shard,
            child: split.child,
            at: split.at,
            next_job: split.next_job,
            ..shown
        },
        Some(Plan::Move(moved)) => pb::Job {
            kind: pb::JobKind::Move.into(),
            shard: moved.shard,
            node: ReplicaId(moved.new).node(),
            from: ReplicaId(moved.old).node(),
            ..shown
        },
        Some(Plan::Drain(of)) => pb::Job {
            kind: pb::JobKind::Drain.into(),
            node: of.node,
            ..shown
        },
        Some(Plan::Replace(of)) => pb::Job {
            kind: pb::JobKind::Replace.into(),
            node: of.node,
            ..shown
        },
        None => shown,
    }
}

/// The map in its own layout.
pub(super) fn raw(reading: Reading) -> pb::MapResponse {
    pb::MapResponse {
        map: reading.view.map.to_bytes().into(),
        copy: Some(reading.copy),
    }
}

/// Which replica a node has in a group; why there is none.
pub(super) fn voter_on(map: &ShardMap, group: u64, node: u32) -> Result<u64, String> {
    let Some(members) = map.members(group) else {
        return Err(match group {
            GROUP_ZERO => shard_map::Refusal::NotFounded.to_string(),
            shard => shard_map::Refusal::UnknownShard(shard).to_string(),
        });
    };
    if map.node(node).is_none() {
        return Err(shard_map::Refusal::UnknownNode(node).to_string());
    }
    let voter = members.voter_on(node).map(|id| id.0);
    voter.ok_or_else(|| shard_map::Refusal::HasNoVoter { shard: group, node }.to_string())
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
