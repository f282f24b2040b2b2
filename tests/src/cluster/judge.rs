//! What the web saw and what the nodes say, against the promises.

use super::offering::forgotten;
use super::talk::is_offered;
use super::{MIN_DELAY_MS, Talk};
use fakeweb::{AllowedRepeats, Arrival, CheckOptions, Manifest, RunningFakeWeb, check};
use page_service::{ClientOptions, StoreClient};
use page_store::Digest;
use proto::frontier_v1 as pb;
use std::collections::{BTreeMap, BTreeSet};

/// At most so many of a kind are told.
const SHOWN: usize = 3;

/// Lets the crawl of a cluster whose nodes are all up come to its end, and judges all of it: no promise is broken.
pub async fn finish_unbroken(talk: &Talk, web: &RunningFakeWeb, manifest: &Manifest) {
    talk.wait_leaders().await.unwrap();
    let urls = talk.wait_finished().await.unwrap();
    let mut broken = Vec::new();
    judge_urls(talk, &[], &mut broken).await;
    judge_web(talk, web.arrivals(), manifest, &urls, &mut broken).await;
    judge_pages(talk, &urls, &mut broken).await;
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Every replica of every shard adds up, and every acknowledged URL is known.
pub async fn judge_urls(talk: &Talk, acknowledged: &[String], broken: &mut Vec<String>) {
    for shard in &talk.shards {
        let statuses = talk.statuses(*shard).await;
        if statuses.len() < talk.nodes.len() {
            broken.push(format!("shard {shard}: {} replicas answer", statuses.len()));
        }
        for status in statuses {
            let terms = status.terms.unwrap_or_default();
            if terms.accepted != sum(&terms) {
                broken.push(format!("shard {shard} does not conserve: {terms:?}"));
            }
        }
    }
    let wrong = forgotten(talk, acknowledged).await;
    let (count, all) = (wrong.len(), acknowledged.len());
    for what in wrong.into_iter().take(SHOWN) {
        broken.push(format!("{what} (one of {count} of {all})"));
    }
}

fn sum(terms: &pb::ConservationTerms) -> u64 {
    let waiting = terms.queued + terms.scheduled + terms.leased;
    waiting + terms.done + terms.removed + terms.refused
}

/// No host contacted early, nothing asked for without need, nothing left out; `urls` is what the nodes know at the end.
pub async fn judge_web(
    talk: &Talk,
    arrivals: Vec<Arrival>,
    manifest: &Manifest,
    urls: &[pb::ListedUrl],
    broken: &mut Vec<String>,
) {
    let records = urls.iter().filter_map(|url| url.record.as_ref());
    // A lost lease or a failed attempt may have been a fetch.
    let repeats: AllowedRepeats = records
        .map(|r| (r.url.clone(), r.lost_leases + r.attempts.saturating_sub(1)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let (mut expired, mut requeued) = (0, 0);
    for shard in &talk.shards {
        let statuses = talk.statuses(*shard).await;
        if let Some(newest) = statuses.iter().max_by_key(|s| s.applied_index) {
            let count = |name: &str| newest.counters.get(name).copied().unwrap_or(0);
            expired += count("leases_expired");
            requeued += count("pages_requeue") + count("outbox_full");
        }
    }
    // The leases that expired and were not of these were of robots files.
    let of_pages: u64 = urls
        .iter()
        .filter_map(|url| url.record.as_ref())
        .map(|record| u64::from(record.lost_leases))
        .sum();
    let options = CheckOptions {
        min_delay_ms: MIN_DELAY_MS,
        allowed_repeats: repeats,
        ..CheckOptions::default()
    };
    let report = check(arrivals, manifest, &options);
    let totals = &report.totals;
    let of_robots: BTreeSet<&String> = manifest
        .hosts
        .values()
        .flat_map(|facts| &facts.robots_urls)
        .collect();
    let beyond = |robots: bool| -> u64 {
        let repeats = report.repeats.iter();
        repeats
            .filter(|repeat| of_robots.contains(&repeat.url) == robots)
            .map(|repeat| u64::from(repeat.arrivals - repeat.allowed))
            .sum()
    };
    let unexplained = beyond(false).saturating_sub(requeued)
        + beyond(true).saturating_sub(expired.saturating_sub(of_pages));
    if totals.early_contacts + totals.unexpected + totals.missing + unexplained > 0 {
        broken.push(format!(
            "{report}; {expired} leases expired, {requeued} requeued, {unexplained} unexplained repeats"
        ));
    }
}

/// Every page that was reported stored is whole in each store that its record names.
pub async fn judge_pages(talk: &Talk, urls: &[pb::ListedUrl], broken: &mut Vec<String>) {
    let nodes = match talk.router.nodes().await {
        Ok(answer) => answer.nodes,
        Err(error) => return broken.push(format!("nobody names the stores: {error}")),
    };
    let stores: BTreeMap<u32, StoreClient> = nodes
        .iter()
        .map(|node| {
            let options = ClientOptions::default();
            let store = StoreClient::new(node.store_id, &node.address, options).unwrap();
            (node.store_id, store)
        })
        .collect();
    let mut stored = 0;
    let records = urls.iter().filter(|url| !is_offered(url));
    for record in records.filter_map(|url| url.record.as_ref()) {
        let Ok(digest) = <[u8; 32]>::try_from(record.digest.as_ref()) else {
            continue;
        };
        let mut read = 0;
        for store in record.stores.iter().filter_map(|id| stores.get(id)) {
            match store.get(&Digest(digest)).await {
                Ok(_) => read += 1,
                Err(error) => broken.push(format!("{}: {}: {error}", record.url, store.address())),
            }
        }
        if read == 0 {
            broken.push(format!("{} is in no store: {record:?}", record.url));
        }
        stored += 1;
    }
    if stored == 0 {
        broken.push("no page was stored".to_owned());
    }
}
