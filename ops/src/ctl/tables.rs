//! The answers for people.

use crate::output;
use comfy_table::{Table, presets};
use proto::admin_v1 as pb;

pub(super) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if !header.is_empty() {
        table.set_header(header);
    }
    table
}

/// Which copy it was, where that matters to whoever reads on.
fn origin(copy: Option<&pb::MapCopy>) -> String {
    let Some(copy) = copy else {
        return "map: unknown".to_owned();
    };
    let leader = match copy.leader {
        0 => "group 0 has no leader that is known".to_owned(),
        node => format!("node {node} leads group 0"),
    };
    let age = if copy.proven {
        "the newest".to_owned()
    } else {
        format!(
            "not proven to be the newest, {} entries behind",
            copy.behind_entries
        )
    };
    let (version, node) = (copy.version, copy.node);
    format!("map version {version} of node {node}, {age}; {leader}")
}

pub(super) fn status(answer: &pb::StatusResponse) -> String {
    let mut table = table(&[]);
    let rows = [
        ("cluster", format!("{:016x}", answer.cluster_id)),
        (
            "nodes",
            format!(
                "{} up, {} draining, {} gone",
                answer.nodes_up, answer.nodes_draining, answer.nodes_gone
            ),
        ),
        (
            "shards",
            format!(
                "{}, {} with a known leader",
                answer.shards, answer.shards_led
            ),
        ),
        ("replicas", format!("{} of each", answer.replica_target)),
        ("jobs", format!("{} running", answer.jobs_running)),
        ("suffix list", format!("{:016x}", answer.suffix_list_digest)),
        ("canonicaliser", answer.canonicalizer_version.to_string()),
    ];
    let is_founded = answer.copy.as_ref().is_some_and(|copy| copy.version > 0);
    if is_founded {
        for (name, value) in rows {
            table.add_row([name.to_owned(), value]);
        }
    } else {
        let reason = match answer.not_founded.as_str() {
            "" => "not founded yet",
            reason => reason,
        };
        table.add_row(["no map".to_owned(), reason.to_owned()]);
    }
    format!("{table}\n{}", origin(answer.copy.as_ref()))
}

pub(super) fn nodes(answer: &pb::NodesResponse) -> String {
    let mut table = table(&[
        "node",
        "incarnation",
        "address",
        "state",
        "linked",
        "replicas",
        "leads",
        "store",
    ]);
    for node in &answer.nodes {
        table.add_row([
            node.node.to_string(),
            node.incarnation.to_string(),
            node.address.clone(),
            state_name(node.state()).to_owned(),
            yes(node.linked).to_owned(),
            node.replicas.to_string(),
            node.leads.to_string(),
            yes(node.has_store).to_owned(),
        ]);
    }
    format!("{table}\n{}", origin(answer.copy.as_ref()))
}

pub(super) const fn state_name(state: pb::NodeState) -> &'static str {
    match state {
        pb::NodeState::Up => "up",
        pb::NodeState::Draining => "draining",
        pb::NodeState::Gone => "gone",
    }
}

pub(super) fn shards(answer: &pb::ShardsResponse) -> String {
    let mut table = table(&[
        "shard", "first", "last", "epoch", "replicas", "leader", "job", "wanted",
    ]);
    for shard in &answer.shards {
        let bound = |hash: u64| match shard.shard {
            0 => "-".to_owned(),
            _ => format!("{hash:016x}"),
        };
        table.add_row([
            shard.shard.to_string(),
            bound(shard.first),
            bound(shard.last),
            shard.epoch.to_string(),
            replicas(&shard.replicas),
            or_dash(shard.leader.into()),
            or_dash(shard.job),
            wanted(shard),
        ]);
    }
    format!("{table}\n{}", origin(answer.copy.as_ref()))
}

/// What a person has chosen: the nodes that it is pinned to, and who should lead.
fn wanted(shard: &pb::Shard) -> String {
    let pinned: Vec<String> = shard.pinned.iter().map(u32::to_string).collect();
    let leader = shard.preferred_leader;
    match (pinned.is_empty(), leader) {
        (true, 0) => "-".to_owned(),
        (true, leader) => format!("led by {leader}"),
        (false, 0) => format!("on {}", pinned.join(",")),
        (false, leader) => format!("on {}, led by {leader}", pinned.join(",")),
    }
}

/// The nodes, in order; one that is fed without a vote has a `+`.
fn replicas(replicas: &[pb::Replica]) -> String {
    let mut replicas: Vec<&pb::Replica> = replicas.iter().collect();
    replicas.sort_by_key(|replica| (replica.node, replica.replica));
    let names = replicas.iter().map(|replica| match replica.voter {
        true => replica.node.to_string(),
        false => format!("{}+", replica.node),
    });
    names.collect::<Vec<_>>().join(",")
}

pub(super) fn jobs(answer: &pb::JobsResponse) -> String {
    let mut table = table(&["job", "what", "state", "step", "cancel", "reason"]);
    for job in &answer.jobs {
        let reason = match job.reason.as_str() {
            "" => "-".to_owned(),
            reason => output::quoted(reason),
        };
        table.add_row([
            job.job.to_string(),
            what(job),
            job_state_name(job.state()).to_owned(),
            job.step.clone(),
            yes(job.can_be_cancelled).to_owned(),
            reason,
        ]);
    }
    if answer.jobs.is_empty() {
        table.add_row(["no jobs"]);
    }
    format!("{table}\n{}", origin(answer.copy.as_ref()))
}

/// A job that has ended.
pub(super) fn end(job: &pb::Job) -> String {
    let state = job_state_name(job.state());
    format!("job {} is {state}: {}", job.job, what(job))
}

fn what(job: &pb::Job) -> String {
    match job.kind() {
        pb::JobKind::Unknown => "unknown to this program".to_owned(),
        pb::JobKind::Split => format!(
            "split shard {} at {:016x} into shard {}",
            job.shard, job.at, job.child
        ),
        pb::JobKind::Move if job.from == 0 => {
            format!("give shard {} a replica on node {}", job.shard, job.node)
        }
        pb::JobKind::Move => format!(
            "move shard {} from node {} to node {}",
            job.shard, job.from, job.node
        ),
        pb::JobKind::Drain => format!("drain node {}", job.node),
        pb::JobKind::Replace => format!("replace node {}", job.node),
    }
}

pub(super) const fn job_state_name(state: pb::JobState) -> &'static str {
    match state {
        pb::JobState::Running => "running",
        pb::JobState::Done => "done",
        pb::JobState::Undone => "undone",
    }
}

pub(super) const fn kind_name(kind: pb::JobKind) -> &'static str {
    match kind {
        pb::JobKind::Unknown => "unknown",
        pb::JobKind::Split => "split",
        pb::JobKind::Move => "move",
        pb::JobKind::Drain => "drain",
        pb::JobKind::Replace => "replace",
    }
}

const fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

fn or_dash(number: u64) -> String {
    match number {
        0 => "-".to_owned(),
        number => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(proven: bool) -> Option<pb::MapCopy> {
        Some(pb::MapCopy {
            version: 5,
            node: 2,
            proven,
            leader: 3,
            ..pb::MapCopy::default()
        })
    }

    #[test]
    fn a_shard_shows_its_range_replicas_and_leader_and_group_zero_has_no_range() {
        let replica = |node, voter| pb::Replica {
            replica: u64::from(node),
            node,
            voter,
        };
        let shard = |shard, leader| pb::Shard {
            shard,
            first: 16,
            last: u64::MAX,
            epoch: 4,
            replicas: vec![replica(3, true), replica(1, true), replica(2, false)],
            leader,
            job: 9,
            pinned: vec![1, 3],
            preferred_leader: 3,
        };
        let text = shards(&pb::ShardsResponse {
            copy: copy(true),
            shards: vec![shard(0, 0), shard(7, 3)],
        });
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|l| l.split_whitespace().collect())
            .collect();
        assert_eq!(
            rows[1],
            [
                "0", "-", "-", "4", "1,2+,3", "-", "9", "on", "1,3,", "led", "by", "3"
            ]
        );
        let first = "0000000000000010";
        let last = "ffffffffffffffff";
        assert_eq!(rows[2][..7], ["7", first, last, "4", "1,2+,3", "3", "9"]);
        assert!(text.contains("map version 5 of node 2, the newest; node 3 leads group 0"));
    }

    #[test]
    fn a_copy_without_proof_says_so() {
        let text = nodes(&pb::NodesResponse {
            copy: copy(false),
            nodes: vec![],
        });
        assert!(text.contains("not proven"), "{text}");
    }

    #[test]
    fn a_cluster_without_a_map_says_why() {
        let text = status(&pb::StatusResponse {
            not_founded: "it is not known yet where node 3 is".to_owned(),
            ..pb::StatusResponse::default()
        });
        assert!(
            text.contains("where node 3 is") && !text.contains("draining"),
            "{text}"
        );
    }

    #[test]
    fn a_jobs_reason_moves_no_cursor() {
        let job = pb::Job {
            job: 1,
            kind: pb::JobKind::Split.into(),
            state: pb::JobState::Undone.into(),
            reason: "\u{1b}[2J".to_owned(),
            ..pb::Job::default()
        };
        let text = jobs(&pb::JobsResponse {
            copy: copy(true),
            jobs: vec![job],
        });
        assert!(
            !text.contains('\u{1b}') && text.contains("undone"),
            "{text}"
        );
    }
}
