//! `hosts`: one host in full, or those of a site.

use super::super::ask::{Asker, End};
use super::args::HostsArgs;
use super::cluster::Cluster;
use super::{json, tables};
use client::Frontier;
use prost::bytes::Bytes;
use proto::frontier_v1 as pb;
use urlkey::HostName;

/// A host's record, and where it is.
pub(super) struct Found {
    pub(super) shard: u64,
    pub(super) partition: u64,
    pub(super) host: pb::HostRecord,
}

/// The hosts of a site: how many there are, and those with the longest queues.
pub(super) struct Site {
    pub(super) shard: u64,
    pub(super) partition: u64,
    pub(super) hosts: u64,
    pub(super) queued: u64,
    pub(super) longest: Vec<pb::HostRecord>,
}

/// Shows a host or a site.
pub(super) async fn run(asker: &Asker, cluster: &mut Cluster, args: &HostsArgs) -> Result<(), End> {
    if let Some(host) = &args.whose.host {
        let Some(found) = find(cluster, host).await? else {
            return Err(End::Refused(unknown(host)));
        };
        return asker.show(|| json::host(&found), || tables::host(&found));
    }
    let Some(host) = &args.whose.site else {
        return Err(End::Usage("neither a host nor a site was given".to_owned()));
    };
    let site = site(cluster, host, args.top.into()).await?;
    if site.hosts == 0 {
        return Err(End::Refused(unknown(host)));
    }
    asker.show(|| json::site(&site), || tables::site(&site))
}

fn unknown(host: &HostName) -> String {
    let name = host.as_str();
    format!("nothing is known of {name}: no URL of it waits, and its clocks are over")
}

/// A host's record, of the leader of its owner; none where nothing is known of it.
pub(super) async fn find(cluster: &mut Cluster, host: &HostName) -> Result<Option<Found>, End> {
    let partition = cluster.router.partition_of_host(host.as_str());
    let request = |shard| pb::GetHostRequest {
        shard,
        host: host.as_str().to_owned(),
        partition,
        local: false,
    };
    let call =
        async |frontier: &client::RoutedFrontier, shard| frontier.get_host(request(shard)).await;
    let (shard, answer) = cluster.at_owner(partition, |_| false, call).await?;
    Ok(answer.record.map(|host| Found {
        shard,
        partition,
        host,
    }))
}

async fn site(cluster: &mut Cluster, host: &HostName, most: usize) -> Result<Site, End> {
    let partition = cluster.router.partition_of_host(host.as_str());
    let mut site = Site {
        shard: 0,
        partition,
        hosts: 0,
        queued: 0,
        longest: Vec::new(),
    };
    let mut cursor = Bytes::new();
    loop {
        let request = |shard| pb::ListHostsRequest {
            shard,
            partition: Some(partition),
            cursor: cursor.clone(),
        };
        let call = async |frontier: &client::RoutedFrontier, shard| {
            frontier.list_hosts(request(shard)).await
        };
        let (shard, slice) = cluster.at_owner(partition, |_| false, call).await?;
        site.shard = shard;
        site.hosts += slice.hosts.len() as u64;
        site.queued += slice.hosts.iter().map(|host| host.queued).sum::<u64>();
        keep_longest(&mut site.longest, slice.hosts, most, |host| host.queued);
        cursor = slice.cursor;
        if cursor.is_empty() {
            return Ok(site);
        }
    }
}

/// Keeps the largest, by a measure and then by their order: memory for two slices and no more.
pub(super) fn keep_longest<T>(
    kept: &mut Vec<T>,
    more: impl IntoIterator<Item = T>,
    most: usize,
    measure: impl Fn(&T) -> u64,
) {
    kept.extend(more);
    kept.sort_by_key(|item| std::cmp::Reverse(measure(item)));
    kept.truncate(most);
}

#[cfg(test)]
mod tests {
    use super::keep_longest;

    #[test]
    fn the_longest_are_kept_in_order() {
        let mut kept = Vec::new();
        for slice in [[3, 9, 1], [7, 2, 9]] {
            keep_longest(&mut kept, slice, 3, |number| *number);
        }
        assert_eq!(kept, [9, 9, 7]);
    }
}
