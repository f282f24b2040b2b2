//! `lost-store`: a page store is given up. Every shard notes its id first, so that no report can bring a page that is only there
//! after its shard was swept; then what had its only copy there goes back to the queues, slice by slice.

use super::super::ask::{Asker, End};
use super::args::LostStoreArgs;
use super::cluster::Cluster;
use client::Frontier;
use page_service::{ClusterStore, FixedStores};
use proto::frontier_v1 as pb;
use serde_json::json;
use std::sync::Arc;

/// What became of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    requeued: u64,
    waiting: u64,
    ended: u64,
}

impl Count {
    const fn add(&mut self, requeued: u64, waiting: u64, ended: u64) {
        self.requeued += requeued;
        self.waiting += waiting;
        self.ended += ended;
    }
}

/// Gives up a store.
pub(super) async fn run(
    asker: &mut Asker,
    cluster: &mut Cluster,
    args: &LostStoreArgs,
) -> Result<(), End> {
    let store = args.store;
    let nodes = nodes(cluster).await?;
    refuse_unknown(asker, &nodes, store).await?;
    refuse_if_alive(&nodes, store).await?;
    note(cluster, store).await?;
    let (shards, count) = sweep(cluster, store).await?;
    let Count {
        requeued,
        waiting,
        ended,
    } = count;
    asker.show(
        || {
            json!({
                "store": store, "shards": shards, "requeued": requeued, "waiting": waiting, "ended": ended,
            })
        },
        || {
            format!(
                "store {store} is given up: {requeued} URLs are queued again, {waiting} were waiting anyway, \
                 {ended} had ended and stay without a page"
            )
        },
    )
}

async fn note(cluster: &mut Cluster, store: u32) -> Result<(), End> {
    let visit = async |cluster: &mut Cluster, shard| {
        let request = request(shard, store, false);
        slice(cluster, &request).await.map(|_| ())
    };
    cluster.each_shard(visit).await.map(|_| ())
}

/// How many shards were swept, and what became of the pages.
async fn sweep(cluster: &mut Cluster, store: u32) -> Result<(usize, Count), End> {
    let visit = async |cluster: &mut Cluster, shard| {
        let mut request = request(shard, store, true);
        let mut count = Count::default();
        loop {
            let answer = slice(cluster, &request).await?;
            count.add(answer.requeued, answer.waiting, answer.ended);
            if answer.cursor.is_empty() {
                return Ok(count);
            }
            request.cursor = answer.cursor;
        }
    };
    let swept = cluster.each_shard(visit).await?;
    let mut sum = Count::default();
    for count in swept.values() {
        sum.add(count.requeued, count.waiting, count.ended);
    }
    Ok((swept.len(), sum))
}

fn request(shard: u64, store: u32, sweep: bool) -> pb::LostStoreRequest {
    pb::LostStoreRequest {
        shard,
        store,
        sweep,
        ..pb::LostStoreRequest::default()
    }
}

async fn slice(
    cluster: &mut Cluster,
    request: &pb::LostStoreRequest,
) -> Result<pb::LostStoreResponse, End> {
    let answer = cluster.call(async |f| f.lost_store(request.clone()).await);
    let answer = answer.await?;
    match answer.refused_reason.as_str() {
        "" => Ok(answer),
        reason => Err(End::Refused(format!("shard {}: {reason}", request.shard))),
    }
}

async fn nodes(cluster: &mut Cluster) -> Result<Vec<pb::Node>, End> {
    let router = Arc::clone(&cluster.router);
    let nodes = cluster.call(async |_| router.nodes().await).await?;
    Ok(nodes.nodes)
}

/// An id that no node has had would wait for the node that gets it one day.
async fn refuse_unknown(asker: &mut Asker, nodes: &[pb::Node], store: u32) -> Result<(), End> {
    let (node, incarnation) = (store & 0xffff, store >> 16);
    let newest = |known: &pb::Node| known.node == node && known.replica >> 32 >= incarnation.into();
    if nodes.iter().any(newest) {
        return Ok(());
    }
    // Group 0 remembers nodes that are gone.
    let all = asker.ask(async |admin| admin.nodes().await).await?.nodes;
    let mut all = all.iter();
    if all.any(|known| known.node == node && known.incarnation >= incarnation) {
        return Ok(());
    }
    Err(End::Refused(format!("no node has had store {store}")))
}

/// A store that answers is not lost: its pages would be fetched again for nothing, and none could be put there any more.
async fn refuse_if_alive(nodes: &[pb::Node], store: u32) -> Result<(), End> {
    let Some(node) = nodes.iter().find(|node| node.store_id == store) else {
        return Ok(());
    };
    let stores = FixedStores(vec![(store, node.address.clone())]);
    let stores = ClusterStore::new(Arc::new(stores), 1);
    match stores.status(store).await {
        Ok(_) => Err(End::Refused(format!(
            "store {store} answers at {}: it is not lost",
            node.address
        ))),
        Err(_) => Ok(()),
    }
}
