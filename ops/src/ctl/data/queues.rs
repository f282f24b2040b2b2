//! `queues`: what waits, by shard and crawl, and the longest queues. Every host of a shard is looked at, in slices, of which only
//! sums and the longest queues are kept: memory does not grow with the cluster.

use super::super::ask::{Asker, End};
use super::args::QueuesArgs;
use super::cluster::Cluster;
use super::hosts::keep_longest;
use super::{json, tables};
use client::Frontier;
use prost::bytes::Bytes;
use proto::frontier_v1 as pb;
use std::collections::BTreeMap;

/// What is shown.
#[derive(Default)]
pub(super) struct Queues {
    pub(super) shards: BTreeMap<u64, ShardQueues>,
    pub(super) longest: Vec<Queue>,
}

/// Of one shard.
pub(super) struct ShardQueues {
    pub(super) status: pb::ShardStatusResponse,
    pub(super) paused: bool,
    pub(super) crawls: BTreeMap<u32, CrawlQueues>,
}

/// Of one crawl at one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CrawlQueues {
    pub(super) state: &'static str,
    pub(super) hosts: u64,
    pub(super) queued: u64,
}

/// A host's queue of one crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Queue {
    pub(super) shard: u64,
    pub(super) crawl: u32,
    pub(super) host: String,
    pub(super) queued: u64,
    pub(super) waits_for: String,
}

/// Shows the queues.
pub(super) async fn run(
    asker: &Asker,
    cluster: &mut Cluster,
    args: &QueuesArgs,
) -> Result<(), End> {
    let mut queues = Queues::default();
    let most = usize::from(args.top);
    let mut longest = Vec::new();
    queues.shards = cluster
        .each_shard(async |cluster, shard| {
            let mut found = begin(cluster, shard, args.crawl).await?;
            let mut cursor = Bytes::new();
            loop {
                let request = pb::ListHostsRequest {
                    shard,
                    partition: None,
                    cursor: cursor.clone(),
                };
                let slice = cluster.call(async |f| f.list_hosts(request.clone()).await);
                let slice = slice.await?;
                let all = slice.hosts.iter().flat_map(|host| of_host(shard, host));
                let wanted = all.filter(|queue| args.crawl.is_none_or(|only| queue.crawl == only));
                let wanted: Vec<Queue> = wanted.collect();
                count(&mut found, &wanted);
                keep_longest(&mut longest, wanted, most, |queue| queue.queued);
                cursor = slice.cursor;
                if cursor.is_empty() {
                    return Ok(found);
                }
            }
        })
        .await?;
    queues.longest = longest;
    let is_known = |crawl: u32| {
        queues
            .shards
            .values()
            .any(|s| s.crawls.contains_key(&crawl))
    };
    if let Some(crawl) = args.crawl.filter(|crawl| !is_known(*crawl)) {
        return Err(End::Refused(format!("no shard knows crawl {crawl}")));
    }
    asker.show(|| json::queues(&queues), || tables::queues(&queues))
}

/// A shard with its crawls, nothing counted yet.
async fn begin(cluster: &mut Cluster, shard: u64, only: Option<u32>) -> Result<ShardQueues, End> {
    let status = pb::ShardStatusRequest { shard };
    let status = cluster.call(async |f| f.shard_status(status).await).await?;
    let settings = pb::ShardSettingsRequest { shard };
    let settings = cluster
        .call(async |f| f.shard_settings(settings).await)
        .await?;
    let mut crawls = BTreeMap::new();
    for crawl in &settings.crawls {
        let policy = crawl.policy.unwrap_or_default();
        if only.is_none_or(|only| only == policy.crawl) {
            let state = state(crawl.removed, policy.paused);
            let queues = CrawlQueues {
                state,
                ..CrawlQueues::default()
            };
            crawls.insert(policy.crawl, queues);
        }
    }
    Ok(ShardQueues {
        status,
        paused: settings.paused,
        crawls,
    })
}

const fn state(removed: bool, paused: bool) -> &'static str {
    match (removed, paused) {
        (true, _) => "removed",
        (false, true) => "paused",
        (false, false) => "running",
    }
}

fn count(shard: &mut ShardQueues, queues: &[Queue]) {
    for queue in queues {
        let crawl = shard.crawls.entry(queue.crawl).or_default();
        crawl.hosts += 1;
        crawl.queued += queue.queued;
    }
}

/// A host's queues, one a crawl: its lanes at several ports together.
fn of_host(shard: u64, host: &pb::HostRecord) -> Vec<Queue> {
    let mut queues: Vec<Queue> = Vec::new();
    for lane in &host.lanes {
        match queues.iter_mut().find(|queue| queue.crawl == lane.crawl) {
            Some(queue) => queue.queued += lane.queued,
            None => queues.push(Queue {
                shard,
                crawl: lane.crawl,
                host: host.host.clone(),
                queued: lane.queued,
                waits_for: host.waits_for.clone(),
            }),
        }
    }
    queues
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_one_crawl_are_one_queue() {
        let lane = |crawl, queued| pb::LaneRecord {
            crawl,
            queued,
            ..pb::LaneRecord::default()
        };
        let host = pb::HostRecord {
            host: "a.example".to_owned(),
            lanes: vec![lane(1, 3), lane(2, 5), lane(1, 4)],
            ..pb::HostRecord::default()
        };
        let queues = of_host(9, &host);
        let counts: Vec<_> = queues.iter().map(|q| (q.crawl, q.queued)).collect();
        assert_eq!(counts, [(1, 7), (2, 5)]);
        let mut shard = ShardQueues {
            status: pb::ShardStatusResponse::default(),
            paused: false,
            crawls: BTreeMap::new(),
        };
        count(&mut shard, &queues);
        count(&mut shard, &queues);
        assert_eq!((shard.crawls[&1].hosts, shard.crawls[&1].queued), (2, 14));
    }
}
