//! Nodes that are silent for so long that they are given up; off unless asked for.

use shard_map::{NodeState, Plan, ShardMap, command::Replace};

use super::survey::Survey;

/// The replacement that should begin now: of the node that is silent longest, and longer than allowed; 0: none ever.
///
/// One at a time: what is given up does not come back, and a node that others follow it into silence may be one of many
/// behind a link that is down. A drain that is under way is left to its end: nobody is replaced who is being emptied.
pub(super) fn replacement(map: &ShardMap, survey: &Survey, after_ms: u64) -> Option<Replace> {
    let is_replacement = |plan: &Option<Plan>| matches!(plan, Some(Plan::Replace(_)));
    if after_ms == 0 || map.running_jobs().any(|job| is_replacement(&job.plan)) {
        return None;
    }
    let nodes = map.present_nodes();
    let silent = nodes.filter(|node| {
        let is_silent = survey.silent_ms(node.number) >= after_ms;
        is_silent && node.state() == NodeState::Up
    });
    let longest = silent.max_by_key(|node| survey.silent_ms(node.number))?;
    Some(Replace {
        node: longest.number,
    })
}
