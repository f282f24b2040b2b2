//! At the end every hash has one owner, and all nodes agree who that is.

use std::collections::BTreeMap;

use client::{CallError, Frontier};
use proto::frontier_v1 as pb;

use super::places;
use super::plan::CRAWL;
use super::shard_map::ShardMap;
use super::world::{To, World, partition};

/// Waits until all nodes have applied all splits, and judges their maps and who answers for what.
pub(super) async fn judge(world: &World) {
    let map = world.splits.map();
    if !map.is_whole() {
        let text = format!("P3: a hash has no owner or two: {map}");
        return world.trace.violation(text);
    }
    for node in 1..=world.plan.nodes {
        while told_by(world, node).await.as_ref() != Some(&map) {
            world.sleep((100, 300)).await;
        }
    }
    world.trace.event(format!("all agree on {map}"));
    if world.plan.has_moves() {
        places::judge(world).await;
    }
    let mut one_each = BTreeMap::new();
    for url in world.oracle.all_accepted() {
        one_each.insert(partition(&url), url);
    }
    for (hash, url) in one_each {
        for shard in map.shards() {
            judge_owner(world, shard, (hash, &url), map.owner(hash) == shard).await;
        }
    }
}

async fn told_by(world: &World, node: u64) -> Option<ShardMap> {
    let told = world.node(node).shard_map(pb::ShardMapRequest {}).await;
    told.ok().map(|told| ShardMap::of(&told))
}

/// A shard answers for a URL exactly if it is the owner.
async fn judge_owner(world: &World, shard: u64, (hash, url): (u64, &str), is_owner: bool) {
    let request = pb::GetUrlRequest {
        shard,
        crawl: CRAWL,
        url: url.to_owned(),
        partition: hash,
        local: false,
    };
    let answer = world.ask(To::Shard(shard), 40, |there, _| {
        let request = request.clone();
        Box::pin(async move {
            match there.get_url(request).await {
                Ok(found) => Ok(Some(found)),
                Err(CallError::WrongShard { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
    });
    let answer = answer.await;
    let is_right = match &answer {
        Ok(Some(found)) => is_owner && found.record.is_some(),
        Ok(None) => !is_owner,
        Err(_) => false,
    };
    if !is_right {
        let text = format!("P3: shard {shard} answers {answer:?} for {url}, owner {is_owner}");
        world.trace.violation(text);
    }
}
