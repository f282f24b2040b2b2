//! Speaking to a cluster over gRPC: policy, seeds, leaders, counters.

use super::Addresses;
use super::limits::{CALL_TIMEOUT, OFFER_WITHIN, RETRY_PAUSE, RETRY_WITHIN};
use crate::output::CommandError;
use crate::policy::{self, PolicyError};
use client::{
    Admin, CallError, Frontier, GrpcFrontier, Peer, RoutedFrontier, Router, RouterOptions,
};
use futures::future::join_all;
use proto::frontier_v1 as pb;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use urlkey::{CanonicalUrl, SuffixList};

/// One node as a frontier.
pub type NodeClient = GrpcFrontier;

/// The control side of a cluster.
pub struct Control {
    nodes: BTreeMap<u32, NodeClient>,
    router: Arc<Router>,
    admin: Admin,
}

impl Control {
    /// Connects; waits until a node knows the shard map.
    pub async fn connect(addresses: &Addresses) -> Result<Self, CommandError> {
        let nodes = clients(addresses, CALL_TIMEOUT)?;
        let peers = nodes.values().map(|node| Peer {
            address: node.address().to_owned(),
            frontier: Arc::new(node.clone()),
        });
        let peers: Vec<Peer> = peers.collect();
        let until = Instant::now() + RETRY_WITHIN;
        let router = loop {
            let options = RouterOptions::new(SuffixList::shipped());
            match Router::connect(peers.clone(), options).await {
                Ok(router) => break router,
                Err(error) if Instant::now() > until => {
                    return Err(CommandError::of("no node gives the shard map", error));
                }
                Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
            }
        };
        let admin = Admin::new(&addresses.grpc_list());
        Ok(Self {
            nodes,
            router: Arc::new(router),
            admin: admin.map_err(|e| CommandError::of("an address of a node", e))?,
        })
    }

    /// The shards, by first hash, as of the map that was read last.
    pub fn shards(&self) -> Vec<u64> {
        shards(&self.router)
    }

    /// The cluster's map, which changes when it is read again.
    pub fn router(&self) -> &Arc<Router> {
        &self.router
    }

    /// Reads the shard map until no node that answers has a newer one.
    pub async fn refresh_map(&self) -> Result<(), CommandError> {
        loop {
            let before = self.router.map_version();
            self.router
                .catch_up()
                .await
                .map_err(|e| CommandError::of("no node gives the shard map", e))?;
            if self.router.map_version() == before {
                return Ok(());
            }
        }
    }

    /// The nodes, by number.
    pub fn nodes(&self) -> &BTreeMap<u32, NodeClient> {
        &self.nodes
    }

    /// Gives every shard the policy; tried again while a shard has no leader.
    pub async fn set_policy(&self, policy: &pb::CrawlPolicy) -> Result<(), CommandError> {
        let frontier = RoutedFrontier::new(Arc::clone(&self.router));
        for shard in self.shards() {
            let until = Instant::now() + RETRY_WITHIN;
            loop {
                match policy::set(&frontier, shard, *policy).await {
                    Err(PolicyError::Call { error, .. })
                        if error.is_retryable() && Instant::now() < until =>
                    {
                        tokio::time::sleep(RETRY_PAUSE).await;
                    }
                    ended => break ended.map_err(PolicyError::into_command)?,
                }
            }
        }
        Ok(())
    }

    /// Offers seeds of a crawl to their owners; all must be taken.
    pub async fn offer(&self, crawl: u32, urls: &[String]) -> Result<(), CommandError> {
        let mut items = Vec::with_capacity(urls.len());
        for url in urls {
            let canonical = CanonicalUrl::verify(url, urlkey::limits::HARD_MAX_URL_BYTES)
                .map_err(|e| CommandError::of(&format!("{url} is not canonical"), e))?;
            let link = pb::Link {
                crawl,
                url: url.clone(),
                partition: self.router.partition_of_host(canonical.host()),
                ..pb::Link::default()
            };
            items.push(pb::DiscoverItem {
                item: Some(pb::discover_item::Item::Link(link)),
            });
        }
        let offered = self.router.offer_within(items, OFFER_WITHIN).await;
        let refused = offered.results.iter().flatten();
        let refused = refused.filter(|result| result.code() == pb::discover_result::Code::Refused);
        let reasons: Vec<&str> = refused.map(|result| result.reason.as_str()).collect();
        if offered.undelivered.is_empty() && reasons.is_empty() {
            return Ok(());
        }
        Err(CommandError::Message(format!(
            "{} seeds were not taken in time, {} were refused ({})",
            offered.undelivered.len(),
            reasons.len(),
            reasons.first().unwrap_or(&"-")
        )))
    }

    /// What every node that answers says of a shard.
    pub async fn all_statuses(&self, shard: u64) -> Vec<(u32, pb::ShardStatusResponse)> {
        all_statuses(&self.nodes, shard).await
    }

    /// The node that leads a shard, if one says so; the one that has applied most, if two do.
    pub async fn leader(&self, shard: u64) -> Option<u32> {
        let statuses = self.all_statuses(shard).await;
        let leaders = statuses.into_iter().filter(|(_, status)| status.leader);
        leaders
            .max_by_key(|(_, status)| status.applied_index)
            .map(|(node, _)| node)
    }

    /// Waits until a shard has a leader.
    pub async fn wait_leader(&self, shard: u64) -> Result<u32, CommandError> {
        let until = Instant::now() + RETRY_WITHIN;
        while Instant::now() < until {
            if let Some(node) = self.leader(shard).await {
                return Ok(node);
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        Err(CommandError::Message(format!(
            "shard {shard} had no leader for {} s",
            RETRY_WITHIN.as_secs()
        )))
    }

    /// Every shard as the replica that has applied most shows it. A shard of which no node answers is an error.
    pub async fn statuses(&self) -> Result<Vec<pb::ShardStatusResponse>, CommandError> {
        let mut newest = Vec::new();
        for shard in self.shards() {
            let all = self.all_statuses(shard).await;
            let best = all.into_iter().max_by_key(|(_, s)| s.applied_index);
            let (_, status) = best.ok_or_else(|| {
                CommandError::Message(format!("no node tells the state of shard {shard}"))
            })?;
            newest.push(status);
        }
        Ok(newest)
    }

    /// Waits until a node's replicas, those that the map gives it, have applied what the others had when this was called.
    pub async fn wait_caught_up(&self, node: u32, within: Duration) -> Result<(), CommandError> {
        let goals: Vec<(u64, u64)> = self
            .statuses()
            .await?
            .iter()
            .map(|status| (status.shard, status.applied_index))
            .collect();
        let until = Instant::now() + within;
        for (shard, goal) in goals {
            // A move may take it away meanwhile.
            while self.votes(node, shard).await {
                let applied = match self.nodes.get(&node) {
                    Some(client) => client.shard_status(pb::ShardStatusRequest { shard }).await,
                    None => return Err(CommandError::Message(format!("no node {node}"))),
                }
                .map(|status| status.applied_index);
                if applied.as_ref().is_ok_and(|applied| *applied >= goal) {
                    break;
                }
                if Instant::now() > until {
                    let at = applied.map_or_else(|e: CallError| e.to_string(), |i| i.to_string());
                    return Err(CommandError::Message(format!(
                        "node {node} did not catch up with shard {shard} in {} s: it is at {at}, the others were at {goal}",
                        within.as_secs()
                    )));
                }
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
        Ok(())
    }
}

impl Control {
    /// Whether a node votes in a shard by the shard map. Without a map every node votes in all.
    async fn votes(&self, node: u32, shard: u64) -> bool {
        let Ok(map) = self.admin.shards().await else {
            return true;
        };
        let is_founded = map.copy.is_some_and(|copy| copy.version > 0);
        let mut shards = map.shards.iter().filter(|found| found.shard == shard);
        let votes = shards.any(|found| found.replicas.iter().any(|r| r.node == node && r.voter));
        !is_founded || votes
    }
}

/// The shards of a router's map, by first hash.
pub fn shards(router: &Router) -> Vec<u64> {
    let entries = router.shards();
    entries.iter().map(|entry| entry.shard).collect()
}

/// A client for every node.
pub fn clients(
    addresses: &Addresses,
    timeout: Duration,
) -> Result<BTreeMap<u32, NodeClient>, CommandError> {
    let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    let each = addresses.grpc.iter().map(|(number, address)| {
        let client = GrpcFrontier::new(&address.to_string())
            .map_err(|e| CommandError::of("an address of a node", e))?;
        Ok((*number, client.with_timeout_ms(timeout_ms)))
    });
    each.collect()
}

/// What every node that answers in time says of a shard.
pub async fn all_statuses(
    nodes: &BTreeMap<u32, NodeClient>,
    shard: u64,
) -> Vec<(u32, pb::ShardStatusResponse)> {
    let asked = nodes.iter().map(|(number, node)| async move {
        let answer = node.shard_status(pb::ShardStatusRequest { shard }).await;
        answer.ok().map(|status| (*number, status))
    });
    join_all(asked).await.into_iter().flatten().collect()
}
