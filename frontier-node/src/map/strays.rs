//! Learners that the map does not know any more: a driver that was deposed may have had one added after its move was undone.
//! Without a vote they do no harm, but a group that has one is not split.

use shard_map::{Fate, ReplicaId, ShardMap};

use super::shaper::{MemberChange, MemberOrder};
use super::survey::Survey;

/// What is to be removed from groups that have no job.
pub(super) fn strays(map: &ShardMap, survey: &Survey) -> Vec<MemberOrder> {
    let leaders = survey.leaders().into_iter();
    let idle = leaders.filter(|(group, _)| map.job_of_shard(*group).is_none());
    let learners = idle.flat_map(|(group, leader)| {
        let ids = leader.learners.iter().copied();
        ids.map(move |replica| (group, replica))
    });
    let retired =
        learners.filter(|(group, replica)| map.fate(*group, ReplicaId(*replica)) == Fate::Retired);
    retired
        .map(|(group, replica)| MemberOrder {
            group,
            replica,
            change: MemberChange::Remove,
        })
        .collect()
}
