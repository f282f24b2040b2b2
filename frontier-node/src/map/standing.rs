//! How a replica of this node stands: the shards' side of the seam.

use proto::raft_v1 as pb;
use raftlog::Group;
use shard_map::GROUP_ZERO;

use crate::node::FrontierNode;

impl FrontierNode {
    /// How this node's replica of a group stands, without proof; `None`: it has none that is open.
    pub(crate) fn standing(&self, group: u64) -> Option<pb::ShardStandingResponse> {
        if group == GROUP_ZERO {
            let zero = self.map()?.zero()?;
            let leadership = zero.leadership();
            // A leader has applied an entry of its own term.
            let term = leadership.is_leader.then_some(leadership.term);
            return Some(of_group(zero.group(), term, term));
        }
        let standing = self.shard_standing(group)?;
        let open = self.shared_node().shards.get(group)?;
        let term = standing.leader_term;
        let proven = term.filter(|_| standing.is_proven);
        Some(pb::ShardStandingResponse {
            epoch: standing.epoch,
            first: standing.first,
            last: standing.last,
            ..of_group(open.group(), term, proven)
        })
    }

    /// How all open replicas of this node stand.
    pub(crate) fn report(&self) -> Vec<pb::GroupReport> {
        let groups = self.groups().into_iter().map(|group| group.group_id());
        let reports = groups.filter_map(|group| {
            let standing = Some(self.standing(group)?);
            Some(pb::GroupReport { group, standing })
        });
        let mut reports: Vec<pb::GroupReport> = reports.collect();
        reports.sort_by_key(|report| report.group);
        reports
    }
}

fn of_group(group: &Group, term: Option<u64>, proven: Option<u64>) -> pb::ShardStandingResponse {
    let status = group.status();
    pb::ShardStandingResponse {
        here: true,
        replica: group.replica(),
        leader_term: term.unwrap_or(0),
        is_proven: term.is_some() && proven == term,
        applied_index: status.applied_index,
        voters: status.voters.into_iter().collect(),
        learners: status.learners.into_iter().collect(),
        ..pb::ShardStandingResponse::default()
    }
}
