//! The frontier and the page store of one directory, opened in this process.

use crate::output::{self, CommandError};
use crate::policy::{self, PolicyError};
use client::{Frontier, Router};
use frontier_node::{FrontierNode, NodeOptions};
use machine::ListedUrl;
use page_store::{PageStore, StoreOptions};
use proto::frontier_v1 as pb;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use urlkey::SuffixList;

/// How long the shards may take to be led after opening.
const LEADING_WITHIN: Duration = Duration::from_secs(30);
/// Links offered at once.
const OFFERED_AT_ONCE: usize = 8_192;

/// An open directory.
pub struct Embedded {
    node: FrontierNode,
    /// The frontier.
    pub frontier: Arc<dyn Frontier>,
    /// Delivery to owners, and lookups.
    pub router: Arc<Router>,
    /// The page store.
    pub pages: Arc<PageStore>,
    /// The list that says what a site is.
    pub suffixes: Arc<SuffixList>,
}

impl Embedded {
    /// Opens `dir/frontier` and `dir/pages`, making them if they are missing.
    pub async fn open(dir: &Path, shards: u32) -> Result<Self, CommandError> {
        let (frontier, pages) = (dir.join("frontier"), dir.join("pages"));
        let parts = [frontier.join("log"), pages.join("store-id")].map(|part| part.exists());
        if parts[0] != parts[1] && parts[0] {
            return Err(CommandError::Message(format!(
                "{} is missing or damaged, but {} says what it held: restore it, or start in another directory",
                pages.display(),
                frontier.display()
            )));
        }
        let options = NodeOptions::new(frontier, u64::from(shards));
        let suffixes = Arc::clone(&options.suffixes);
        let store = StoreOptions::new(pages);
        let pages = tokio::task::spawn_blocking(move || PageStore::open(store))
            .await
            .map_err(|e| CommandError::of("opening the page store was interrupted", e))?
            .map_err(|e| CommandError::of("cannot open the page store", e))?;
        let node = FrontierNode::open(options)
            .await
            .map_err(|e| CommandError::of("cannot open the frontier", e))?;
        if !node.wait_until_leading(LEADING_WITHIN).await {
            return Err(CommandError::Message(
                "the frontier's shards did not start in time".to_owned(),
            ));
        }
        Ok(Self {
            frontier: node.frontier(),
            router: node.router(),
            pages: Arc::new(pages),
            suffixes,
            node,
        })
    }

    /// Opens a directory that a crawl made; one that is not there is an error, not a new crawl.
    pub async fn open_existing(dir: &Path, shards: u32) -> Result<Self, CommandError> {
        let frontier = dir.join("frontier");
        if !frontier.is_dir() {
            return Err(CommandError::Message(format!(
                "{} holds no crawl",
                dir.display()
            )));
        }
        Self::open(dir, shards).await
    }

    /// Gives every shard the crawl's policy.
    pub async fn set_policy(&self, policy: pb::CrawlPolicy) -> Result<(), CommandError> {
        let set = async |shard| policy::set(&*self.frontier, shard, policy).await;
        let everywhere = self.router.each_shard(set).await;
        everywhere.map(drop).map_err(PolicyError::into_command)
    }

    /// Offers links to their owners; the refused ones are named on stderr.
    pub async fn offer(&self, links: Vec<pb::Link>) -> Result<(), CommandError> {
        for links in links.chunks(OFFERED_AT_ONCE) {
            let mut items = Vec::with_capacity(links.len());
            for link in links {
                let host =
                    urlkey::CanonicalUrl::verify(&link.url, urlkey::limits::HARD_MAX_URL_BYTES)
                        .map_err(|e| CommandError::of("a link is not canonical", e))?;
                let partition = self.router.partition_of_host(host.host());
                let link = pb::Link {
                    partition,
                    ..link.clone()
                };
                items.push(pb::DiscoverItem {
                    item: Some(pb::discover_item::Item::Link(link)),
                });
            }
            let offered = self.router.offer(items).await;
            if !offered.undelivered.is_empty() {
                let count = offered.undelivered.len();
                return Err(CommandError::Message(format!(
                    "the frontier did not take {count} seeds"
                )));
            }
            for (link, result) in links.iter().zip(&offered.results) {
                if let Some(result) = result
                    && result.code() == pb::discover_result::Code::Refused
                {
                    output::note(format_args!(
                        "escapement: seed {} refused: {}",
                        output::quoted(&link.url),
                        result.reason
                    ));
                }
            }
        }
        Ok(())
    }

    /// The counters of every shard.
    pub async fn shards(&self) -> Result<Vec<pb::ShardStatusResponse>, CommandError> {
        let mut shards = Vec::new();
        for entry in self.router.shards() {
            let request = pb::ShardStatusRequest { shard: entry.shard };
            shards.push(
                self.frontier
                    .shard_status(request)
                    .await
                    .map_err(|e| CommandError::of("cannot read a shard", e))?,
            );
        }
        Ok(shards)
    }

    /// Calls `each` with every URL of every shard.
    pub async fn for_each_url(
        &self,
        mut each: impl FnMut(ListedUrl) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        for entry in self.router.shards() {
            let mut cursor = Vec::new();
            loop {
                let slice = self
                    .node
                    .list_urls(entry.shard, cursor)
                    .await
                    .map_err(|e| CommandError::of("cannot list URLs", e))?;
                slice.urls.into_iter().try_for_each(&mut each)?;
                cursor = slice.cursor;
                if cursor.is_empty() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Flushes and closes.
    pub async fn close(self) {
        self.node.close().await;
    }
}
