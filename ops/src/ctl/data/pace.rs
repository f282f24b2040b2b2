//! `block`, `unblock`, `delay`, `pause`, `resume`: when hosts and crawls are leased.

use super::super::ask::{Asker, End};
use super::args::{BlockArgs, DelayArgs, Paused};
use super::cluster::{Cluster, MOVED};
use super::waits::time;
use client::{Frontier, RoutedFrontier};
use pb::set_policy_request::Policy;
use proto::frontier_v1 as pb;
use serde_json::json;
use urlkey::HostName;

/// Blocks a host.
pub(super) async fn block(
    asker: &Asker,
    cluster: &mut Cluster,
    args: &BlockArgs,
) -> Result<(), End> {
    let block_for_ms = u64::try_from(args.time.as_millis()).unwrap_or(u64::MAX);
    let change = pb::HostChange {
        block_for_ms: Some(block_for_ms),
        ..pb::HostChange::default()
    };
    let shard = change_host(cluster, &args.host, change).await?;
    let host = args.host.as_str();
    asker.show(
        || json!({ "host": host, "shard": shard, "block_for_ms": block_for_ms }),
        || format!("{host} is blocked for {}", time(block_for_ms)),
    )
}

/// Ends a block.
pub(super) async fn unblock(
    asker: &Asker,
    cluster: &mut Cluster,
    host: &HostName,
) -> Result<(), End> {
    let change = pb::HostChange {
        block_for_ms: Some(0),
        ..pb::HostChange::default()
    };
    let shard = change_host(cluster, host, change).await?;
    let host = host.as_str();
    asker.show(
        || json!({ "host": host, "shard": shard, "block_for_ms": 0 }),
        || format!("{host} is not blocked"),
    )
}

/// Sets a host's own delay.
pub(super) async fn delay(
    asker: &Asker,
    cluster: &mut Cluster,
    args: &DelayArgs,
) -> Result<(), End> {
    let min_delay_ms = args.delay_ms;
    let change = pb::HostChange {
        min_delay_ms: Some(min_delay_ms),
        ..pb::HostChange::default()
    };
    let shard = change_host(cluster, &args.host, change).await?;
    let host = args.host.as_str();
    asker.show(
        || json!({ "host": host, "shard": shard, "min_delay_ms": min_delay_ms }),
        || match min_delay_ms {
            0 => format!("{host} has no delay of its own"),
            _ => format!("{host} is contacted every {} at most", time(min_delay_ms)),
        },
    )
}

/// Pauses or resumes a host, a crawl or all.
pub(super) async fn pause(
    asker: &Asker,
    cluster: &mut Cluster,
    what: &Paused,
    paused: bool,
) -> Result<(), End> {
    let (name, shards) = match what {
        Paused::Host(host) => {
            let change = pb::HostChange {
                paused: Some(paused),
                ..pb::HostChange::default()
            };
            let shard = change_host(cluster, host, change).await?;
            (host.as_str().to_owned(), vec![shard])
        }
        Paused::All => {
            let policy = Policy::ShardPause(pb::ShardPause { paused });
            ("all".to_owned(), everywhere(cluster, &policy, "").await?)
        }
        Paused::Crawl(crawl) => {
            let crawl = *crawl;
            let policy = Policy::CrawlPause(pb::CrawlPause { crawl, paused });
            let shards = everywhere(cluster, &policy, "unknown_crawl").await?;
            if shards.is_empty() {
                return Err(End::Refused(format!("no shard knows crawl {crawl}")));
            }
            (format!("crawl {crawl}"), shards)
        }
    };
    let done = if paused { "paused" } else { "not paused" };
    asker.show(
        || json!({ "what": name, "paused": paused, "shards": shards }),
        || format!("{name}: {done} at {} shards", shards.len()),
    )
}

/// Gives a policy to all shards; those that took it. The shards that refuse it for `passed_over` are left out.
pub(super) async fn everywhere(
    cluster: &mut Cluster,
    policy: &Policy,
    passed_over: &str,
) -> Result<Vec<u64>, End> {
    let visit = async |cluster: &mut Cluster, shard| {
        let request = pb::SetPolicyRequest {
            shard,
            policy: Some(policy.clone()),
        };
        let answer = cluster.call(async |f| f.set_policy(request.clone()).await);
        match answer.await?.refused_reason {
            reason if reason.is_empty() => Ok(true),
            reason if reason == passed_over => Ok(false),
            reason => Err(End::Refused(format!("shard {shard}: {reason}"))),
        }
    };
    let visited = cluster.each_shard(visit).await?;
    let took = visited.into_iter().filter(|(_, took)| *took);
    Ok(took.map(|(shard, _)| shard).collect())
}

/// Changes some of a host's policy, at its owner, which it gives.
async fn change_host(
    cluster: &mut Cluster,
    host: &HostName,
    change: pb::HostChange,
) -> Result<u64, End> {
    let partition = cluster.router.partition_of_host(host.as_str());
    let change = pb::HostChange {
        host: host.as_str().to_owned(),
        partition,
        ..change
    };
    let call = async |frontier: &RoutedFrontier, shard| {
        let policy = Some(Policy::HostChange(change.clone()));
        frontier
            .set_policy(pb::SetPolicyRequest { shard, policy })
            .await
    };
    let has_moved = |answer: &pb::SetPolicyResponse| answer.refused_reason == MOVED;
    let (shard, answer) = cluster.at_owner(partition, has_moved, call).await?;
    match answer.refused_reason.as_str() {
        "" => Ok(shard),
        reason => Err(End::Refused(format!("shard {shard}: {reason}"))),
    }
}
