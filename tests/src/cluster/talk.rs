//! Speaking to a cluster over gRPC: policy, seeds, leaders, counters, URLs.

use super::{FETCH_TIMEOUT_MS, MIN_DELAY_MS, OFFERED_CRAWL};
use client::{CallError, Frontier, GrpcFrontier, RoutedFrontier, Router, RouterOptions};
use proto::frontier_v1 as pb;
use std::sync::Arc;
use std::time::{Duration, Instant};
use urlkey::{CanonicalUrl, SuffixList};

/// The crawl that the fetcher works on.
pub const CRAWL: u32 = 1;
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What takes longer does not happen.
const PATIENCE: Duration = Duration::from_secs(60);
/// An answer that takes longer is none.
const CALL_TIMEOUT_MS: u64 = 4_000;

/// A cluster's other side.
#[derive(Clone)]
pub struct Talk {
    /// All nodes as one.
    pub router: Arc<Router>,
    /// Each node alone, by its number less one.
    pub nodes: Vec<GrpcFrontier>,
    /// The shards.
    pub shards: Vec<u64>,
}

impl Talk {
    /// Connects, and goes on trying until a node tells the shard map.
    pub async fn connect(addresses: &[String]) -> Self {
        let until = Instant::now() + PATIENCE;
        let router = loop {
            let options = RouterOptions::new(SuffixList::shipped());
            match Router::connect_addresses(addresses.to_vec(), options).await {
                Ok(router) => break router,
                Err(error) => assert!(Instant::now() < until, "no shard map: {error}"),
            }
            tokio::time::sleep(LOOK_EVERY).await;
        };
        let node = |address: &String| {
            let node = GrpcFrontier::new(address).unwrap();
            node.with_timeout_ms(CALL_TIMEOUT_MS)
        };
        Self {
            shards: router.shards().iter().map(|entry| entry.shard).collect(),
            router: Arc::new(router),
            nodes: addresses.iter().map(node).collect(),
        }
    }

    /// Sets the policies of both crawls on every shard, and offers the seed. Goes on trying.
    pub async fn set_up(&self, seed_url: &str) -> Result<(), String> {
        let crawl = pb::CrawlPolicy {
            crawl: CRAWL,
            min_delay_ms: MIN_DELAY_MS.into(),
            response_time_factor_tenths: 1,
            fetch_timeout_ms: FETCH_TIMEOUT_MS,
            back_off_base_ms: 500,
            ..pb::CrawlPolicy::default()
        };
        // What is offered to this one stays in its queue, so that all of it must be found there.
        let offered = pb::CrawlPolicy {
            crawl: OFFERED_CRAWL,
            paused: true,
            ..pb::CrawlPolicy::default()
        };
        for policy in [crawl, offered] {
            self.set_policy(policy).await?;
        }
        let seed = self.link(CRAWL, seed_url);
        let offered = self.router.offer_within(vec![seed], PATIENCE).await;
        match offered.undelivered.as_slice() {
            [] => Ok(()),
            _ => Err("the seed was not delivered".to_owned()),
        }
    }

    async fn set_policy(&self, policy: pb::CrawlPolicy) -> Result<(), String> {
        let frontier = RoutedFrontier::new(Arc::clone(&self.router));
        for shard in &self.shards {
            let request = pb::SetPolicyRequest {
                shard: *shard,
                policy: Some(pb::set_policy_request::Policy::Crawl(policy)),
            };
            let answer = retried(|| frontier.set_policy(request.clone())).await?;
            assert_eq!(answer.refused_reason, "");
        }
        Ok(())
    }

    /// A URL as it is offered.
    pub fn link(&self, crawl: u32, url: &str) -> pb::DiscoverItem {
        let canonical = CanonicalUrl::verify(url, urlkey::limits::HARD_MAX_URL_BYTES).unwrap();
        pb::DiscoverItem {
            item: Some(pb::discover_item::Item::Link(pb::Link {
                crawl,
                url: url.to_owned(),
                partition: self.router.partition_of_host(canonical.host()),
                ..pb::Link::default()
            })),
        }
    }

    /// What the owner of a URL knows of it. Goes on trying.
    pub async fn url(&self, crawl: u32, url: &str) -> Result<Option<pb::UrlRecord>, String> {
        let answer = retried(|| self.router.get_url(crawl, url)).await?;
        Ok(answer.record)
    }

    /// What every node that answers says of a shard.
    pub async fn statuses(&self, shard: u64) -> Vec<pb::ShardStatusResponse> {
        let request = pb::ShardStatusRequest { shard };
        let asked = self.nodes.iter().map(|node| node.shard_status(request));
        let answers = futures::future::join_all(asked).await;
        answers.into_iter().flatten().collect()
    }

    /// Waits until a replica of each shard says that it leads.
    pub async fn wait_leaders(&self) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        for shard in &self.shards {
            while !self.statuses(*shard).await.iter().any(|s| s.leader) {
                if Instant::now() > until {
                    return Err(format!("nobody leads shard {shard}"));
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        Ok(())
    }

    /// The node, by number, whose replica of a shard says that it leads; waits for one.
    pub async fn leader_of(&self, shard: u64) -> usize {
        loop {
            for (index, node) in self.nodes.iter().enumerate() {
                let status = node.shard_status(pb::ShardStatusRequest { shard }).await;
                if status.is_ok_and(|status| status.leader) {
                    return index + 1;
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Every URL of all shards, each read from the replica that has applied most.
    pub async fn list_urls(&self) -> Result<Vec<pb::ListedUrl>, String> {
        let mut urls = Vec::new();
        for shard in self.shards.iter().copied() {
            let asked = self.nodes.iter().map(|node| async move {
                let status = node.shard_status(pb::ShardStatusRequest { shard }).await;
                status.ok().map(|status| (status.applied_index, node))
            });
            let answers = futures::future::join_all(asked).await;
            let newest = answers
                .into_iter()
                .flatten()
                .max_by_key(|(index, _)| *index);
            let (_, node) = newest.ok_or_else(|| format!("nobody tells of shard {shard}"))?;
            let mut cursor = prost::bytes::Bytes::new();
            loop {
                let request = pb::ListUrlsRequest { shard, cursor };
                let slice = retried(|| node.list_urls(request.clone())).await?;
                urls.extend(slice.urls);
                cursor = slice.cursor;
                if cursor.is_empty() {
                    break;
                }
            }
        }
        Ok(urls)
    }

    /// Waits until everything of the fetcher's crawl has ended and nothing is on its way; all URLs then.
    pub async fn wait_finished(&self) -> Result<Vec<pb::ListedUrl>, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let urls = self.list_urls().await;
            let mut outbox_waiting = 0;
            for shard in &self.shards {
                let waiting = self.statuses(*shard).await;
                outbox_waiting += waiting.iter().map(|s| s.outbox_waiting).max().unwrap_or(1);
            }
            let left = match urls {
                Ok(urls) if outbox_waiting == 0 && is_finished(&urls) => return Ok(urls),
                Ok(urls) => {
                    let open = urls.iter().filter(|url| !is_offered(url) && is_open(url));
                    format!("{:?}", open.take(3).collect::<Vec<_>>())
                }
                Err(why) => why,
            };
            if Instant::now() > until {
                return Err(format!("the crawl does not end: {left}"));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Repeats a call until it is answered for good.
async fn retried<T, F>(mut call: impl FnMut() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, CallError>>,
{
    let until = Instant::now() + PATIENCE;
    loop {
        match call().await {
            Err(error) if error.is_retryable() && Instant::now() < until => {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            other => return other.map_err(|error| error.to_string()),
        }
    }
}

/// Whether a URL was offered by the test itself.
pub fn is_offered(url: &pb::ListedUrl) -> bool {
    let record = url.record.as_ref();
    record.is_some_and(|record| record.url.contains(super::offering::OFFERED_SUFFIX))
}

fn is_open(url: &pb::ListedUrl) -> bool {
    use pb::url_record::State;
    let state = url.record.as_ref().map(pb::UrlRecord::state);
    !matches!(state, Some(State::Done | State::Refused | State::Removed))
}

fn is_finished(urls: &[pb::ListedUrl]) -> bool {
    let mut crawled = urls.iter().filter(|url| !is_offered(url)).peekable();
    crawled.peek().is_some() && !crawled.any(is_open)
}
