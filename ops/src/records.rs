//! What a crawl's directory says of its URLs, read while no crawl runs on it.

use crate::crawl::{Settings, conserved};
use crate::embedded::Embedded;
use crate::output::CommandError;
use ::fakeweb::{CrawlOutcome, Outcome};
use machine::command::lease::LeaseKind;
use machine::command::report::PageCode;
use machine::{ListedUrl, UrlState};
use std::path::Path;

/// Opens the directory, hands it to `work`, closes it.
pub fn with_directory<T>(
    dir: &Path,
    work: impl AsyncFnOnce(&Embedded) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let settings = Settings::read(dir)?
        .ok_or_else(|| CommandError::Message(format!("{} holds no crawl", dir.display())))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::io("cannot start", e))?;
    runtime.block_on(async {
        let embedded = Embedded::open_existing(dir, settings.shards).await?;
        let result = work(&embedded).await;
        embedded.close().await;
        result
    })
}

/// Every URL of the crawl.
pub fn all(dir: &Path) -> Result<Vec<ListedUrl>, CommandError> {
    with_directory(dir, all_of)
}

async fn all_of(embedded: &Embedded) -> Result<Vec<ListedUrl>, CommandError> {
    let mut urls = Vec::new();
    embedded
        .for_each_url(|listed| {
            urls.push(listed);
            Ok(())
        })
        .await?;
    Ok(urls)
}

/// What was leased when the directory was left, robots files and errands included. A shard that does not conserve is an error.
pub fn leased(dir: &Path) -> Result<Vec<String>, CommandError> {
    let urls = with_directory(dir, async |embedded| {
        for shard in embedded.shards().await? {
            if !shard.terms.as_ref().is_some_and(conserved) {
                return Err(CommandError::Message(format!(
                    "shard {} does not conserve: {:?}",
                    shard.shard, shard.terms
                )));
            }
        }
        all_of(embedded).await
    })?;
    let leased = urls
        .into_iter()
        .filter(|listed| listed.record.state == UrlState::Leased);
    Ok(leased.map(|listed| listed.url).collect())
}

/// What became of every page, in the words of a fake web's manifest.
pub fn outcomes(dir: &Path) -> Result<Vec<CrawlOutcome>, CommandError> {
    let pages = all(dir)?
        .into_iter()
        .filter(|listed| listed.kind == LeaseKind::Page);
    let named = pages.filter_map(|listed| {
        let record = &listed.record;
        let outcome = outcome(record.state, record.last_code, record.status)?;
        let digest = (!listed.record.digest.is_empty()).then(|| hex::encode(&listed.record.digest));
        Some(CrawlOutcome {
            url: listed.url,
            outcome,
            digest,
        })
    });
    Ok(named.collect())
}

/// The manifest's word for a URL's end, from its state, the code of its last end and its last HTTP status; `None` for one
/// that has no end yet, and so is missing.
pub fn outcome(state: UrlState, last_code: i32, status: u32) -> Option<Outcome> {
    let code = PageCode::try_from(last_code).ok();
    match (state, code) {
        // Never tried and nothing else to wait for: its robots file is out of reach.
        (UrlState::Queued, None) => Some(Outcome::UnreachableRobots),
        (UrlState::Done, Some(PageCode::Stored | PageCode::NotModified)) => Some(Outcome::Fetched),
        (UrlState::Done, Some(PageCode::Redirect)) => Some(Outcome::Redirect),
        // A redirect to itself, or one too many in a row, ends there.
        (UrlState::Done, Some(PageCode::HttpError)) if (300..400).contains(&status) => {
            Some(Outcome::Redirect)
        }
        (UrlState::Done, Some(PageCode::HttpError)) if status == 404 => Some(Outcome::NotFound),
        (UrlState::Done, Some(PageCode::HttpError)) if status == 410 => Some(Outcome::Gone),
        (UrlState::Refused, Some(PageCode::HttpBusy)) => Some(Outcome::ServerError),
        (UrlState::Refused, Some(PageCode::NetworkError)) => Some(Outcome::Truncated),
        (UrlState::Refused, Some(PageCode::Disallowed)) => Some(Outcome::Disallowed),
        _ => None,
    }
}
