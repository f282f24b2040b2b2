//! `alias`: one host is folded into another, and what waits there travels.

use super::super::ask::{Asker, End};
use super::args::AliasArgs;
use super::cluster::{Cluster, MOVED};
use super::hosts::find;
use client::{Frontier, RoutedFrontier};
use proto::frontier_v1 as pb;
use serde_json::json;
use std::time::{Duration, Instant};
use urlkey::HostName;

/// Pause between two looks at what travels.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Folds a host into another, or ends that; waits until all that waited there has left if that is wanted.
pub(super) async fn run(asker: &Asker, cluster: &mut Cluster, args: &AliasArgs) -> Result<(), End> {
    let host = args.host.as_str();
    let to = args.target.to.as_ref().map(HostName::as_str);
    if let Some(target) = &args.target.to {
        refuse_a_chain(cluster, target).await?;
    }
    let partition = cluster.router.partition_of_host(host);
    let to_partition = to.map_or(0, |to| cluster.router.partition_of_host(to));
    let call = async |frontier: &RoutedFrontier, shard| {
        let request = pb::AliasRequest {
            shard,
            host: host.to_owned(),
            partition,
            to: to.unwrap_or_default().to_owned(),
            to_partition,
        };
        frontier.alias(request).await
    };
    let has_moved = |answer: &pb::AliasResponse| answer.refused_reason == MOVED;
    let (shard, answer) = cluster.at_owner(partition, has_moved, call).await?;
    if !answer.refused_reason.is_empty() {
        let reason = answer.refused_reason;
        return Err(End::Refused(format!("shard {shard}: {reason}")));
    }
    if args.wait.wait && to.is_some() {
        wait(cluster, args).await?;
    }
    let waiting = answer.waiting;
    asker.show(
        || json!({ "host": host, "to": to, "shard": shard, "waiting": waiting }),
        || match to {
            Some(to) if args.wait.wait => {
                format!("{host} is folded into {to}: {waiting} URLs went there")
            }
            Some(to) => format!("{host} is folded into {to}: {waiting} URLs are on their way"),
            None => format!("{host} is folded into no other host"),
        },
    )
}

/// URLs of a chain of aliases would be sent on and on.
async fn refuse_a_chain(cluster: &mut Cluster, target: &HostName) -> Result<(), End> {
    let found = find(cluster, target).await?;
    match found.filter(|found| !found.host.alias.is_empty()) {
        None => Ok(()),
        Some(found) => Err(End::Refused(format!(
            "{} is itself folded into {}",
            target.as_str(),
            found.host.alias
        ))),
    }
}

/// Until the host has nothing left: what is leased ends first.
async fn wait(cluster: &mut Cluster, args: &AliasArgs) -> Result<(), End> {
    let until = Instant::now() + args.wait.within;
    loop {
        let found = find(cluster, &args.host).await?;
        let is_left = |host: &pb::HostRecord| host.queued + host.scheduled + host.leased > 0;
        if !found.is_some_and(|found| is_left(&found.host)) {
            return Ok(());
        }
        if Instant::now() >= until {
            let seconds = args.wait.within.as_secs_f64();
            let words = format!("what waits at the host takes longer than {seconds} s to leave");
            return Err(End::Unavailable(words));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
