//! What a page sends out: its links, or the target of its redirect, to their owners.

use std::collections::HashSet;

use extract::Extracted;
use pb::discover_item::Item;
use pb::discover_result::Code;
use proto::frontier_v1 as pb;
use urlkey::CanonicalUrl;

use crate::cycle::Page;
use crate::limits::MAX_UNDELIVERED;

/// Offers the links of a stored page that belong to its crawl and are not known to be known. Returns those that no owner
/// took, for the report to carry.
pub(crate) async fn offer_links(page: &Page<'_>, extracted: &Extracted) -> Vec<pb::DiscoverItem> {
    let metrics = &page.ctx.metrics;
    if extracted.directives.noindex {
        metrics.noindex.increment();
    }
    let depth = page.work.depth.saturating_add(1);
    let mut items = Vec::new();
    let mut offered = HashSet::new();
    for link in extracted.to_follow() {
        let url = &link.url;
        if url == page.url
            || !page.ctx.crawls.follows(page.work.crawl, page.url, url)
            || !offered.insert(url.as_str())
        {
            continue;
        }
        metrics.links_found.increment();
        if page.ctx.known.contains(page.work.crawl, url.as_str()) {
            metrics.links_known.increment();
        } else if items.len() < page.ctx.config.max_links_a_page {
            items.push(item(page, url, depth, 0));
        } else {
            metrics.links_dropped.increment();
        }
    }
    offer(page, items).await.1
}

/// Offers the target of a redirect. Returns the owner's reason if it refused, and the item if nobody took it.
pub(crate) async fn offer_redirect(
    page: &Page<'_>,
    target: CanonicalUrl,
) -> (String, Vec<pb::DiscoverItem>) {
    let hops = page.work.redirect_hops.saturating_add(1);
    let mut item = item(page, &target, page.work.depth, hops);
    if let Some(Item::Link(link)) = &mut item.item {
        // The same thing at another place keeps what the client said of it.
        link.metadata = page.work.metadata.clone();
    }
    offer(page, vec![item]).await
}

fn item(page: &Page<'_>, url: &CanonicalUrl, depth: u32, redirect_hops: u32) -> pb::DiscoverItem {
    let link = pb::Link {
        crawl: page.work.crawl,
        url: url.as_str().to_owned(),
        partition: page.ctx.links.partition_of_host(url.host()),
        priority: page.work.priority,
        depth,
        redirect_hops,
        ..Default::default()
    };
    pb::DiscoverItem {
        item: Some(Item::Link(link)),
    }
}

/// Delivers, counts and remembers. Returns the last reason of a refusal, and what was not delivered.
async fn offer(page: &Page<'_>, items: Vec<pb::DiscoverItem>) -> (String, Vec<pb::DiscoverItem>) {
    if items.is_empty() {
        return (String::new(), items);
    }
    let metrics = &page.ctx.metrics;
    let urls: Vec<String> = items.iter().map(url_of).collect();
    let mut offered = page.ctx.offers.offer(items).await;
    let mut refused = String::new();
    for (url, result) in urls.iter().zip(&offered.results) {
        let Some(result) = result else { continue };
        match result.code() {
            Code::New | Code::Known => page.ctx.known.insert(page.work.crawl, url),
            // Not remembered: what a limit refused may be taken later.
            Code::Refused => {
                metrics.links_refused.increment();
                refused = shortened(&result.reason);
            }
            Code::WrongShard | Code::Unspecified | Code::Moved => {}
        }
        if result.code() == Code::New {
            metrics.links_new.increment();
        }
    }
    metrics
        .links_undelivered
        .add(offered.undelivered.len() as u64);
    offered.undelivered.truncate(MAX_UNDELIVERED);
    (refused, offered.undelivered)
}

fn url_of(item: &pb::DiscoverItem) -> String {
    match &item.item {
        Some(Item::Link(link)) => link.url.clone(),
        _ => String::new(),
    }
}

/// A reason from elsewhere, within the bound of ours.
fn shortened(reason: &str) -> String {
    reason
        .chars()
        .take_while(char::is_ascii)
        .take(crate::limits::MAX_REASON_BYTES)
        .collect()
}
