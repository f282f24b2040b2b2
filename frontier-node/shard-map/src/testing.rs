//! What tests share: a cluster in a few words, and commands that are checked as they are applied.

use std::collections::BTreeSet;

use crate::{
    Accepted, Body, Command, Identity, Job, Node, Plan, Refusal, ShardMap, Step, apply,
    command::{Found, Join, MoveReplica, SplitShard, StepDone},
    invariants,
};

/// All nodes answer.
pub(crate) const NOBODY: BTreeSet<u32> = BTreeSet::new();
pub(crate) const CLUSTER: u64 = 0xc1;
pub(crate) const IDENTITY: Identity = Identity {
    suffix_list_digest: 0x51,
    canonicalizer_version: 3,
    fingerprint_key_id: 0x6b,
};

pub(crate) fn node(number: u32) -> Node {
    Node {
        number,
        address: format!("n{number}:7701"),
        http_address: format!("n{number}:7781"),
        holds_shards: true,
        has_store: true,
        ..Node::default()
    }
}

pub(crate) fn founding(nodes: u32, shards: u64) -> Found {
    Found {
        cluster_id: CLUSTER,
        identity: IDENTITY,
        replica_target: 3,
        shards,
        nodes: (1..=nodes).map(node).collect(),
    }
}

/// A cluster of nodes 1, 2, ... that wants three voters a group.
pub(crate) fn cluster(nodes: u32, shards: u64) -> ShardMap {
    let mut map = ShardMap::default();
    run(&mut map, Body::Found(founding(nodes, shards)));
    map
}

/// Applies a command that must be accepted; the invariants hold after it.
pub(crate) fn send(map: &mut ShardMap, command: &Command) -> Accepted {
    let before = map.clone();
    let accepted = apply(map, command).unwrap();
    invariants::check(map).unwrap();
    invariants::check_follows(&before, map).unwrap();
    assert_eq!(accepted.changed, before != *map);
    assert_eq!(accepted.version, map.version);
    accepted
}

pub(crate) fn run(map: &mut ShardMap, body: Body) -> Accepted {
    send(map, &body.into())
}

/// Applies a command that must be refused; nothing changes.
pub(crate) fn refused(map: &ShardMap, command: impl Into<Command>) -> Refusal {
    let mut after = map.clone();
    let refusal = apply(&mut after, &command.into()).unwrap_err();
    assert_eq!(after, *map, "refused, and yet something changed: {refusal}");
    refusal
}

pub(crate) fn joining(number: u32, incarnation: u32) -> Body {
    Body::Join(Join {
        cluster_id: CLUSTER,
        identity: IDENTITY,
        node: Node {
            incarnation,
            ..node(number)
        },
    })
}

pub(crate) fn epoch(map: &ShardMap, shard: u64) -> u64 {
    map.members(shard).map_or(0, |members| members.epoch)
}

pub(crate) fn nodes_of(map: &ShardMap, shard: u64) -> Vec<u32> {
    let members = map.members(shard).unwrap();
    let mut nodes: Vec<u32> = members.voters().map(crate::Replica::node).collect();
    nodes.sort_unstable();
    nodes
}

pub(crate) fn moving(map: &ShardMap, shard: u64, from: u32, to: u32) -> Body {
    Body::MoveReplica(MoveReplica {
        shard,
        epoch: epoch(map, shard),
        from,
        to,
        ..MoveReplica::default()
    })
}

pub(crate) fn splitting(map: &ShardMap, shard: u64, at: u64) -> Body {
    Body::SplitShard(SplitShard {
        shard,
        epoch: epoch(map, shard),
        at,
        alone: false,
    })
}

/// Begins a job.
pub(crate) fn begin(map: &mut ShardMap, body: Body) -> u64 {
    run(map, body).job.unwrap()
}

/// What a driver says when a step of this job was done.
pub(crate) fn done(job: &Job) -> Body {
    let created = match &job.plan {
        Some(Plan::Split(split)) => split.voters.clone(),
        _ => Vec::new(),
    };
    Body::StepDone(StepDone {
        job: job.id,
        expects: job.step,
        created,
    })
}

pub(crate) fn step(map: &mut ShardMap, job: u64) -> Step {
    let said = done(map.job(job).unwrap());
    run(map, said);
    map.job(job).unwrap().step()
}

/// Drives a job to its end.
pub(crate) fn finish(map: &mut ShardMap, job: u64) -> Step {
    while map.job(job).unwrap().is_running() {
        step(map, job);
    }
    map.job(job).unwrap().step()
}

/// Begins jobs and drives each to its end.
pub(crate) fn carry_out(map: &mut ShardMap, moves: Vec<MoveReplica>) {
    for moved in moves {
        let job = begin(map, Body::MoveReplica(moved));
        finish(map, job);
    }
}
