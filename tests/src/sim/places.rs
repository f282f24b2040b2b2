//! At the end every node has exactly what the map gives it: the replicas, under the ids that the map knows, and no row beside
//! theirs; and every group's voters are the map's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use frontier_node::FrontierNode;
use futures::future::BoxFuture;
use machine::{Machine, Rows, ShardId};
use raftlog::NodeId;

use super::net::WORLD;
use super::shard_rows::NodeRows;
use super::world::World;

const ANSWER_WITHIN: Duration = Duration::from_secs(6);

/// What a node has.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    /// By shard.
    replicas: BTreeMap<u64, NodeId>,
    /// Rows that are no replica's.
    strays: usize,
}

/// Waits until it is so: what was removed may go a while after the map said so.
pub(super) async fn judge(world: &World) {
    for node in 1..=world.plan.nodes {
        let mut told = None;
        loop {
            let (held, expected) = (held_by(world, node).await, given(world, node));
            if let Some(held) = &held
                && held.replicas == expected
            {
                judge_strays(world, node, held.strays);
                break;
            }
            if told != held {
                let text = format!("{node} has {held:?} of {expected:?}");
                world.trace.event(text);
                told = held;
            }
            world.sleep((100, 300)).await;
        }
    }
    judge_voters(world).await;
}

fn judge_strays(world: &World, node: u64, strays: usize) {
    if strays > 0 {
        let text = format!("P3: {node} has {strays} rows that are no replica's");
        world.trace.violation(text);
    }
}

fn given(world: &World, node: u64) -> BTreeMap<u64, NodeId> {
    let map = world.zero.map();
    let replica = |shard: &shard_map::Shard| {
        let mut all = shard.members.replicas.iter();
        let own = all.find(|replica| u64::from(replica.node()) == node)?;
        Some((shard.id, own.id))
    };
    map.shards.iter().filter_map(replica).collect()
}

/// None while a replica comes or goes.
async fn held_by(world: &World, node: u64) -> Option<Held> {
    let serve = |there: Arc<FrontierNode>| -> BoxFuture<'static, Result<Option<Held>, String>> {
        Box::pin(async move { held(&there) })
    };
    let answer = world.net.call((WORLD, node), true, ANSWER_WITHIN, serve);
    match answer.await.ok()? {
        Ok(held) => held,
        Err(error) => {
            world.trace.violation(format!("rows of {node}: {error}"));
            None
        }
    }
}

fn held(node: &FrontierNode) -> Result<Option<Held>, String> {
    let engine = node.engine();
    let db = engine.state();
    let rows = NodeRows(&db);
    let count = |from: &[u8], to: &[u8]| {
        let found = rows.scan(from, to, usize::MAX);
        found
            .map(|found| found.len())
            .map_err(|error| error.to_string())
    };
    let mut strays = 0;
    for tag in machine::TAGS {
        strays += count(&[tag], &[tag + 1])?;
    }
    let mut replicas = BTreeMap::new();
    for shard in node.shards() {
        let Some(group) = engine.group(shard) else {
            return Ok(None);
        };
        replicas.insert(shard, group.replica());
        let range = Machine::stored_range(&rows, ShardId(shard));
        let Some((first, last)) = range.map_err(|error| error.to_string())? else {
            continue;
        };
        for (from, to) in machine::key_ranges(ShardId(shard), first, last) {
            strays -= count(&from, &to)?;
        }
    }
    Ok(Some(Held { replicas, strays }))
}

/// Of each group, by whoever leads it.
async fn judge_voters(world: &World) {
    let map = world.zero.map();
    for shard in &map.shards {
        let expected = shard.members.voters().map(|voter| voter.id).collect();
        let id = shard.id;
        'found: loop {
            for node in 1..=world.plan.nodes {
                let serve = move |there: Arc<FrontierNode>| -> BoxFuture<'static, _> {
                    let status = there.engine().group(id).map(|group| group.status());
                    Box::pin(async move { status.filter(|status| status.is_leader) })
                };
                let answer = world.net.call((WORLD, node), true, ANSWER_WITHIN, serve);
                let Ok(Some(status)) = answer.await else {
                    continue;
                };
                if status.voters != expected || !status.learners.is_empty() || status.is_joint {
                    world.trace.violation(format!(
                        "shard {id} has {:?} and {:?}, by the map {expected:?}",
                        status.voters, status.learners
                    ));
                }
                break 'found;
            }
            world.sleep((100, 300)).await;
        }
    }
}
