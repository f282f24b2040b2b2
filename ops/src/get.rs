//! `escapement get`: a stored payload on stdout, by digest or by URL, of a crawl's directory or of a cluster.

use crate::crawl::CRAWL;
use crate::output::{self, CommandError};
use crate::patience::Patience;
use crate::records;
use crate::stores::ClusterPages;
use page_store::{Digest, Page, PageStore, StoreOptions};
use proto::frontier_v1::UrlRecord;
use proto::frontier_v1::url_record::State;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use urlkey::Canonicalizer;

/// Arguments of `get`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// SHA-256 of the payload (64 hex digits), or a URL of the crawl.
    what: String,
    #[command(flatten)]
    from: From,
    /// The cluster's list of public suffixes, if it is not the one that this program ships.
    #[arg(long, value_name = "FILE", requires = "frontier")]
    suffix_list: Option<PathBuf>,
}

/// Where pages are.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct From {
    /// Directory of a crawl; no crawl may be running on it.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// gRPC addresses of a cluster's nodes, some or all.
    #[arg(long, value_delimiter = ',', value_name = "ADDRESS")]
    pub frontier: Vec<String>,
}

/// Runs `get`.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let page = match &args.from.out {
        Some(out) => of_directory(out, &args.what)?,
        None => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| CommandError::io("cannot start", e))?
            .block_on(of_cluster(args))?,
    };
    output::bytes(&page.payload)?;
    Ok(ExitCode::SUCCESS)
}

fn of_directory(out: &Path, what: &str) -> Result<Page, CommandError> {
    let digest = match what.parse::<Digest>() {
        Ok(digest) => digest,
        Err(_) => {
            let url = canonical(what)?;
            let record = records::with_directory(out, async |embedded| {
                let answer = embedded.router.get_url(CRAWL, &url).await;
                answer
                    .map(|a| a.record)
                    .map_err(|e| CommandError::of("cannot look the URL up", e))
            })?;
            digest_of(&url, record.as_ref())?
        }
    };
    let store = open(out)?;
    store
        .get(&digest)
        .map_err(|e| CommandError::of("cannot read the page", e))?
        .ok_or_else(|| none(&digest))
}

/// The page store of a crawl's directory.
pub fn open(out: &Path) -> Result<PageStore, CommandError> {
    let pages = out.join("pages");
    if !pages.is_dir() {
        return Err(CommandError::Message(format!(
            "{} holds no crawl",
            out.display()
        )));
    }
    PageStore::open(StoreOptions::new(pages))
        .map_err(|e| CommandError::of("cannot open the page store", e))
}

/// A URL is read from the stores that its record names; a bare digest is asked for everywhere.
async fn of_cluster(args: &Args) -> Result<Page, CommandError> {
    let (what, mut patience) = (args.what.as_str(), Patience::new());
    let suffix_list = args.suffix_list.as_deref();
    let cluster = ClusterPages::connect(&args.from.frontier, suffix_list, &mut patience).await?;
    let (digest, read) = match what.parse::<Digest>() {
        Ok(digest) => (digest, cluster.stores.get(&digest).await),
        Err(_) => {
            let url = canonical(what)?;
            let answer = patience.until(async || cluster.router.get_url(CRAWL, &url).await);
            let record = answer
                .await
                .map_err(|e| CommandError::of("cannot look the URL up", e))?
                .record;
            let digest = digest_of(&url, record.as_ref())?;
            let stores = record.map(|record| record.stores).unwrap_or_default();
            (digest, cluster.stores.get_from(&stores, &digest).await)
        }
    };
    let fetched = read
        .map_err(|e| CommandError::of("cannot read the page", e))?
        .ok_or_else(|| none(&digest))?;
    for failed in &fetched.failed {
        output::note(format_args!("escapement: a copy was passed over: {failed}"));
    }
    Ok(fetched.page)
}

fn none(digest: &Digest) -> CommandError {
    CommandError::Message(format!("no page with digest {digest}"))
}

fn canonical(text: &str) -> Result<String, CommandError> {
    let url = Canonicalizer::default().canonicalize(text);
    url.map(Into::into).map_err(|e| {
        CommandError::Message(format!(
            "{} is neither a digest nor a URL: {e}",
            output::quoted(text)
        ))
    })
}

fn digest_of(url: &str, record: Option<&UrlRecord>) -> Result<Digest, CommandError> {
    let record =
        record.ok_or_else(|| CommandError::Message(format!("{url} is not part of this crawl")))?;
    let bytes = <[u8; 32]>::try_from(record.digest.as_ref())
        .map_err(|_| CommandError::Message(without_page(url, record)))?;
    hex::encode(bytes)
        .parse()
        .map_err(|e| CommandError::of("the record's digest", e))
}

/// Why there is no page of a URL.
fn without_page(url: &str, record: &UrlRecord) -> String {
    let reason = match record.last_reason.as_str() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    match record.state() {
        State::Queued => format!("{url} is queued: no page is stored yet{reason}"),
        State::Leased => format!("{url} is being fetched: no page is stored yet{reason}"),
        State::Scheduled => {
            format!("{url} waits for its next visit: no page is stored yet{reason}")
        }
        State::Done => format!("{url} is done, without a page to store{reason}"),
        State::Removed => format!("{url} was removed: no page is stored"),
        State::Refused => format!("{url} was refused: no page is stored{reason}"),
        State::Unspecified => format!("{url} has no stored page{reason}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_a_page_says_why() {
        let none = digest_of("http://a.example/", None)
            .unwrap_err()
            .to_string();
        assert!(none.contains("not part of this crawl"), "{none}");
        let mut record = UrlRecord {
            last_reason: "robots_disallowed".to_owned(),
            ..UrlRecord::default()
        };
        let refused = digest_of("http://a.example/", Some(&record)).unwrap_err();
        assert!(
            refused.to_string().contains("robots_disallowed"),
            "{refused}"
        );
        for (state, words) in [
            (State::Queued, "is queued: no page is stored yet"),
            (State::Leased, "is being fetched"),
            (State::Scheduled, "next visit"),
            (State::Done, "is done, without a page"),
            (State::Removed, "was removed"),
            (State::Refused, "was refused"),
        ] {
            record.set_state(state);
            let why = digest_of("http://a.example/", Some(&record)).unwrap_err();
            assert!(why.to_string().contains(words), "{why}");
        }
        record.digest = vec![7; 32].into();
        let digest = digest_of("http://a.example/", Some(&record)).unwrap();
        assert_eq!(digest.to_string(), "07".repeat(32));
    }

    #[test]
    fn what_is_no_url_is_named() {
        assert_eq!(canonical("HTTP://A.example").unwrap(), "http://a.example/");
        assert!(
            canonical("nothing")
                .unwrap_err()
                .to_string()
                .contains("nothing")
        );
    }
}
