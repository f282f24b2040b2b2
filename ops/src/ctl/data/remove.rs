//! `remove`: a URL, a host's URLs or a crawl, slice by slice.

use super::super::ask::{Asker, End};
use super::args::{RemoveArgs, Removed};
use super::cluster::{Cluster, MOVED};
use client::{Frontier, RoutedFrontier};
use pb::remove_request::Target;
use proto::frontier_v1 as pb;
use serde_json::json;

/// What a removal did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    removed: u64,
    /// Leased; they close as removed.
    marked: u64,
}

/// Removes.
pub(super) async fn run(
    asker: &Asker,
    cluster: &mut Cluster,
    args: &RemoveArgs,
) -> Result<(), End> {
    let count = match &args.what {
        Removed::Url(url) => {
            let partition = cluster.router.partition_of_host(url.host());
            let target = Target::Url(url.as_str().to_owned());
            of_owner(cluster, args, args.crawl, partition, target).await?
        }
        Removed::Host(host) => {
            let partition = cluster.router.partition_of_host(host.as_str());
            let target = Target::Host(host.as_str().to_owned());
            of_owner(cluster, args, args.crawl, partition, target).await?
        }
        Removed::Crawl(crawl) => of_all(cluster, args, *crawl).await?,
    };
    let what = args.what.shown();
    let Count { removed, marked } = count;
    asker.show(
        || json!({ "what": what, "removed": removed, "leased": marked, "forget": args.forget }),
        || match marked {
            0 => format!("{what}: {removed} removed"),
            _ => {
                format!("{what}: {removed} removed, {marked} leased now and removed when that ends")
            }
        },
    )
}

fn request(args: &RemoveArgs, crawl: u32, target: Target) -> pb::RemoveRequest {
    pb::RemoveRequest {
        crawl,
        forget: args.forget,
        target: Some(target),
        ..pb::RemoveRequest::default()
    }
}

/// All slices at the owner of a partition hash. One that took the hash over from another begins anew: nothing is removed twice.
async fn of_owner(
    cluster: &mut Cluster,
    args: &RemoveArgs,
    crawl: u32,
    partition: u64,
    target: Target,
) -> Result<Count, End> {
    let mut request = pb::RemoveRequest {
        partition,
        ..request(args, crawl, target)
    };
    let mut count = Count::default();
    loop {
        let call = async |frontier: &RoutedFrontier, shard| {
            let same = shard == request.shard;
            let cursor = if same {
                request.cursor.clone()
            } else {
                Default::default()
            };
            let request = pb::RemoveRequest {
                shard,
                cursor,
                ..request.clone()
            };
            frontier.remove(request).await
        };
        let has_moved = |answer: &pb::RemoveResponse| answer.refused_reason == MOVED;
        let (shard, slice) = cluster.at_owner(partition, has_moved, call).await?;
        take(&mut count, shard, crawl, &slice)?;
        if slice.cursor.is_empty() {
            return Ok(count);
        }
        (request.shard, request.cursor) = (shard, slice.cursor);
    }
}

/// All slices of a crawl at all shards; those that never heard of it are passed over, unless all are.
async fn of_all(cluster: &mut Cluster, args: &RemoveArgs, crawl: u32) -> Result<Count, End> {
    let visit = async |cluster: &mut Cluster, shard| {
        let mut request = pb::RemoveRequest {
            shard,
            ..request(args, crawl, Target::WholeCrawl(true))
        };
        let mut count = Count::default();
        loop {
            let slice = cluster
                .call(async |f| f.remove(request.clone()).await)
                .await?;
            if slice.refused_reason == "unknown_crawl" {
                return Ok(None);
            }
            take(&mut count, shard, crawl, &slice)?;
            if slice.cursor.is_empty() {
                return Ok(Some(count));
            }
            request.cursor = slice.cursor;
        }
    };
    let visited = cluster.each_shard(visit).await?;
    let counts: Vec<Count> = visited.into_values().flatten().collect();
    if counts.is_empty() {
        return Err(End::Refused(format!("no shard knows crawl {crawl}")));
    }
    let sum = |sum: Count, count: Count| Count {
        removed: sum.removed + count.removed,
        marked: sum.marked + count.marked,
    };
    Ok(counts.into_iter().fold(Count::default(), sum))
}

fn take(count: &mut Count, shard: u64, crawl: u32, slice: &pb::RemoveResponse) -> Result<(), End> {
    match slice.refused_reason.as_str() {
        "" => {}
        "unknown_crawl" => return Err(End::Refused(format!("shard {shard} has no crawl {crawl}"))),
        reason => return Err(End::Refused(format!("shard {shard}: {reason}"))),
    }
    count.removed += slice.removed;
    // What is leased is marked again by each slice.
    count.marked = count.marked.max(slice.marked);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_add_up_and_refusals_end_it() {
        let mut count = Count::default();
        let slice = pb::RemoveResponse {
            removed: 256,
            marked: 1,
            ..pb::RemoveResponse::default()
        };
        for _ in 0..3 {
            assert!(take(&mut count, 1, 1, &slice).is_ok());
        }
        assert_eq!((count.removed, count.marked), (768, 1));
        let refused = pb::RemoveResponse {
            refused_reason: "unknown_crawl".to_owned(),
            ..slice
        };
        let end = take(&mut count, 4, 7, &refused);
        assert!(end.is_err_and(|end| end.code() == 1 && end.to_string().contains("crawl 7")));
        assert_eq!(count.removed, 768);
    }
}
