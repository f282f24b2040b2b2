//! The shares of nodes that have less than they should: nodes that joined, or that were drained and are not any more.

use std::collections::BTreeSet;

use super::on_join::fill;
use super::outlook::Outlook;
use crate::{command::MoveReplica, model::ShardMap};

/// The moves that give each node what all would have at least if all had the same.
///
/// Every move makes the counts more even, and none is proposed once no node has less than that: so asking again and again
/// comes to an end, whoever asks. Nothing is moved off a node that would have less than the one that gets it.
///
/// `down`: nodes that do not answer now; nothing is moved to them.
#[must_use]
pub fn shares(map: &ShardMap, down: &BTreeSet<u32>) -> Vec<MoveReplica> {
    let mut outlook = Outlook::of(map, down);
    let (least, _) = outlook.share();
    let targets = map.usable_nodes().map(|node| node.number);
    let mut lacking: Vec<u32> = targets
        .filter(|node| outlook.is_target(*node) && outlook.count(*node) < least)
        .collect();
    lacking.sort_by_key(|node| (outlook.count(*node), *node));
    let mut moves: Vec<MoveReplica> = Vec::new();
    for node in lacking {
        let planned: BTreeSet<u64> = moves.iter().map(|moved| moved.shard).collect();
        moves.extend(fill(&mut outlook, node, least, true, &planned));
    }
    moves
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::{NOBODY, carry_out, cluster, joining, run};
    use crate::{Body, command::Drain, command::Undrain};

    fn counts(map: &ShardMap) -> Vec<usize> {
        let nodes = map.usable_nodes().map(|node| node.number);
        nodes.map(|node| map.replicas_on(node)).collect()
    }

    /// Asks and carries out until nothing is proposed; how many moves that took.
    fn settle(map: &mut ShardMap) -> usize {
        let mut moved = 0;
        loop {
            let mut moves = shares(map, &NOBODY);
            if moves.is_empty() {
                return moved;
            }
            // A few at once, as a driver does: the rest is planned anew.
            moves.truncate(2);
            moved += moves.len();
            carry_out(map, moves);
            assert!(moved < 1_000, "it does not come to an end");
        }
    }

    #[test]
    fn a_node_that_joins_gets_a_share_by_about_as_many_moves_and_then_nothing_moves() {
        for (nodes, shards) in [(3, 4), (4, 16), (7, 40), (12, 64)] {
            let mut map = cluster(nodes, shards);
            settle(&mut map);
            let total: usize = counts(&map).iter().sum();
            run(&mut map, joining(nodes + 1, 0));
            let moved = settle(&mut map);
            let least = total / (nodes as usize + 1);
            let new = map.replicas_on(nodes + 1);
            assert_eq!(
                (new, moved),
                (least, least),
                "{nodes} nodes, {shards} shards"
            );
            assert!(counts(&map).iter().all(|count| *count >= least));
        }
    }

    #[test]
    fn several_nodes_that_join_at_once_all_get_their_share() {
        let mut map = cluster(3, 20);
        for node in 4..=7 {
            run(&mut map, joining(node, 0));
        }
        settle(&mut map);
        // 63 replicas on seven nodes.
        assert_eq!(counts(&map), [9; 7]);
    }

    #[test]
    fn a_node_that_drains_or_does_not_answer_gets_nothing() {
        let mut map = cluster(4, 8);
        run(&mut map, joining(5, 0));
        assert!(shares(&map, &BTreeSet::from([5])).is_empty());
        run(&mut map, Body::Drain(Drain { node: 5 }));
        assert!(shares(&map, &NOBODY).iter().all(|moved| moved.to != 5));
        run(&mut map, Body::Undrain(Undrain { node: 5 }));
        assert!(shares(&map, &NOBODY).iter().any(|moved| moved.to == 5));
    }
}
