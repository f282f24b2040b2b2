//! `escapement get`: a stored payload on stdout, by digest or by URL.

use crate::crawl::CRAWL;
use crate::output::{self, CommandError};
use crate::records;
use page_store::{Digest, PageStore, StoreOptions};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use urlkey::Canonicalizer;

/// Arguments of `get`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// SHA-256 of the payload (64 hex digits), or a URL of the crawl.
    what: String,
    /// Directory of the crawl; no crawl may be running on it.
    #[arg(long)]
    out: PathBuf,
}

/// Runs `get`.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let pages = args.out.join("pages");
    if !pages.is_dir() {
        return Err(CommandError::Message(format!(
            "{} holds no crawl",
            args.out.display()
        )));
    }
    let digest = match args.what.parse::<Digest>() {
        Ok(digest) => digest,
        Err(_) => digest_of_url(&args.out, &args.what)?,
    };
    let store = PageStore::open(StoreOptions::new(pages))
        .map_err(|e| CommandError::of("cannot open the page store", e))?;
    let page = store
        .get(&digest)
        .map_err(|e| CommandError::of("cannot read the page", e))?
        .ok_or_else(|| CommandError::Message(format!("no page with digest {digest}")))?;
    output::bytes(&page.payload)?;
    Ok(ExitCode::SUCCESS)
}

fn digest_of_url(out: &Path, text: &str) -> Result<Digest, CommandError> {
    let url = Canonicalizer::default().canonicalize(text).map_err(|e| {
        CommandError::Message(format!("{text:?} is neither a digest nor a URL: {e}"))
    })?;
    let record = records::with_directory(out, async |embedded| {
        let answer = embedded.router.get_url(CRAWL, url.as_str()).await;
        answer
            .map(|a| a.record)
            .map_err(|e| CommandError::of("cannot look the URL up", e))
    })?;
    let record =
        record.ok_or_else(|| CommandError::Message(format!("{url} is not part of this crawl")))?;
    let bytes = <[u8; 32]>::try_from(record.digest.as_ref()).map_err(|_| {
        CommandError::Message(format!("{url} has no stored page ({})", record.last_reason))
    })?;
    hex::encode(bytes)
        .parse()
        .map_err(|e| CommandError::of("the record's digest", e))
}
