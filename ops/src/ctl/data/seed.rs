//! `seed`: offers URLs to a crawl, and makes the crawl if that is wanted.

use super::super::ask::{Asker, End};
use super::args::SeedArgs;
use super::cluster::Cluster;
use crate::crawl::gather_seeds;
use crate::output;
use client::{Frontier, Router};
use pb::discover_result::Code;
use pb::set_policy_request::Policy;
use proto::frontier_v1 as pb;
use serde_json::json;
use urlkey::CanonicalUrl;

/// URLs offered at once.
const OFFERED_AT_ONCE: usize = 8_192;
/// Refused URLs that are named.
const NAMED: usize = 20;

/// What became of the URLs.
#[derive(Debug, Default)]
struct Counts {
    new: u64,
    known: u64,
    refused: u64,
    undelivered: u64,
    named: Vec<(String, String)>,
}

/// Offers.
pub(super) async fn run(asker: &Asker, cluster: &mut Cluster, args: &SeedArgs) -> Result<(), End> {
    let seeds = gather_seeds(&args.urls, args.file.as_deref())?;
    if let Some(first) = seeds.refused.first() {
        let more = seeds.refused.len() - 1;
        let words = format!("{first}; {more} others are wrong too; nothing was offered");
        return Err(End::Usage(words));
    }
    if seeds.urls.is_empty() {
        return Err(End::Usage("no URLs: give some, or --file FILE".to_owned()));
    }
    if args.create {
        create(cluster, args.crawl).await?;
    }
    let urls: Vec<CanonicalUrl> = seeds.urls.into_iter().collect();
    let mut counts = Counts::default();
    for urls in urls.chunks(OFFERED_AT_ONCE) {
        let items = urls.iter().map(|url| link(&cluster.router, url, args));
        let offered = cluster.router.offer(items.collect()).await;
        for (url, result) in urls.iter().zip(offered.results) {
            counts.take(url, result);
        }
    }
    counts.end(asker, args.crawl)
}

fn link(router: &Router, url: &CanonicalUrl, args: &SeedArgs) -> pb::DiscoverItem {
    pb::DiscoverItem {
        item: Some(pb::discover_item::Item::Link(pb::Link {
            crawl: args.crawl,
            url: url.as_str().to_owned(),
            partition: router.partition_of_host(url.host()),
            priority: args.priority.into(),
            ..pb::Link::default()
        })),
    }
}

/// Gives the crawl's default policy to the shards that do not know it.
async fn create(cluster: &mut Cluster, crawl: u32) -> Result<(), End> {
    let visit = async |cluster: &mut Cluster, shard| {
        let request = pb::ShardSettingsRequest { shard };
        let settings = cluster
            .call(async |f| f.shard_settings(request).await)
            .await?;
        let mut known = settings.crawls.iter().filter_map(|crawl| crawl.policy);
        if known.any(|policy| policy.crawl == crawl) {
            return Ok(());
        }
        let policy = Policy::Crawl(pb::CrawlPolicy {
            crawl,
            ..pb::CrawlPolicy::default()
        });
        let request = pb::SetPolicyRequest {
            shard,
            policy: Some(policy),
        };
        let answer = cluster.call(async |f| f.set_policy(request.clone()).await);
        match answer.await?.refused_reason.as_str() {
            "" => Ok(()),
            reason => Err(End::Refused(format!("shard {shard}: {reason}"))),
        }
    };
    cluster.each_shard(visit).await.map(|_| ())
}

impl Counts {
    fn take(&mut self, url: &CanonicalUrl, result: Option<pb::DiscoverResult>) {
        let Some(result) = result else {
            self.undelivered += 1;
            return;
        };
        match result.code() {
            Code::New => self.new += 1,
            Code::Known => self.known += 1,
            _ => {
                self.refused += 1;
                if self.named.len() < NAMED {
                    self.named.push((url.as_str().to_owned(), result.reason));
                }
            }
        }
    }

    /// Shows what became of them; refused or undelivered ones make it a failure.
    fn end(&self, asker: &Asker, crawl: u32) -> Result<(), End> {
        let Self {
            new,
            known,
            refused,
            undelivered,
            named,
        } = self;
        for (url, reason) in named {
            output::note(format_args!(
                "escapement: {} refused: {reason}",
                output::quoted(url)
            ));
        }
        let named: Vec<_> = named
            .iter()
            .map(|(url, reason)| json!({ "url": url, "reason": reason }))
            .collect();
        asker.show(
            || {
                json!({
                    "crawl": crawl, "new": new, "known": known, "refused": refused,
                    "undelivered": undelivered, "refusals": named,
                })
            },
            || {
                format!(
                    "{new} new, {known} known, {refused} refused, {undelivered} not taken in time"
                )
            },
        )?;
        if *undelivered > 0 {
            let words = format!("{undelivered} URLs found no owner in time; run it again");
            return Err(End::Unavailable(words));
        }
        if *refused > 0 {
            let why = self.named.first().map_or("", |(_, reason)| reason);
            return Err(End::Refused(format!(
                "{refused} URLs, the first for: {why}"
            )));
        }
        Ok(())
    }
}
