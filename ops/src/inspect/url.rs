//! `inspect url`: how a URL is canonicalised and where it belongs.

use crate::output::{self, CommandError};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use urlkey::{
    CanonicalOptions, Canonicalizer, CrawlId, FingerprintKey, SuffixList, partition_hash,
};

/// Arguments of `inspect url`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// URLs to look at.
    #[arg(required_unless_present = "stdin")]
    urls: Vec<String>,
    /// Read URLs from stdin, one a line.
    #[arg(long)]
    stdin: bool,
    /// Crawl id that goes into the fingerprint.
    #[arg(long, default_value_t = 1)]
    crawl: u32,
    /// Fingerprint key, 32 hex digits.
    #[arg(long, default_value = "00000000000000000000000000000000")]
    key: String,
    /// Public suffix list to use instead of the shipped one.
    #[arg(long)]
    suffix_list: Option<PathBuf>,
    /// Query parameters to drop (may be repeated).
    #[arg(long)]
    drop_param: Vec<String>,
    /// Sort query parameters.
    #[arg(long)]
    sort_query: bool,
}

/// One line of output; numbers of 64 bits are 16 hex digits, for JSON numbers would lose bits.
#[derive(Serialize)]
struct Line<'a> {
    input: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    canonical: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    host: Option<&'a str>,
    site: Option<&'a str>,
    partition: Option<String>,
    fingerprint: Option<String>,
}

/// Runs `inspect url`.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let inspector = Inspector::new(args)?;
    for url in &args.urls {
        inspector.inspect(url)?;
    }
    if args.stdin {
        super::for_each_line(|line| match line {
            Ok(url) => inspector.inspect(url),
            Err(why) => inspector.failed("", "too_long", why.to_owned()),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What decides a URL's identity.
struct Inspector {
    canonicalizer: Canonicalizer,
    suffixes: Arc<SuffixList>,
    key: FingerprintKey,
    crawl: CrawlId,
}

impl Inspector {
    fn new(args: &Args) -> Result<Self, CommandError> {
        let options = CanonicalOptions {
            drop_params: args.drop_param.clone(),
            sort_query: args.sort_query,
            ..CanonicalOptions::default()
        };
        let canonicalizer =
            Canonicalizer::new(options).map_err(|e| CommandError::of("canonical options", e))?;
        let suffixes = crate::suffixes::read(args.suffix_list.as_deref())?;
        let key = <[u8; 16]>::try_from(hex::decode(&args.key).unwrap_or_default())
            .map_err(|_| CommandError::Message("--key takes 32 hex digits".to_owned()))?;
        Ok(Self {
            canonicalizer,
            suffixes,
            key: FingerprintKey::from_bytes(key),
            crawl: CrawlId(args.crawl),
        })
    }

    fn inspect(&self, input: &str) -> Result<(), CommandError> {
        let url = match self.canonicalizer.canonicalize(input) {
            Ok(url) => url,
            Err(error) => return self.failed(input, error.kind(), error.to_string()),
        };
        let site = self.suffixes.site(url.host());
        let line = Line {
            input,
            canonical: Some(url.as_str()),
            error: None,
            detail: None,
            host: Some(url.host()),
            site: Some(site.as_str()),
            partition: Some(format!("{:016x}", partition_hash(&site).0)),
            fingerprint: Some(format!("{:016x}", self.key.fingerprint(self.crawl, &url).0)),
        };
        print(&line)
    }

    fn failed(&self, input: &str, kind: &str, detail: String) -> Result<(), CommandError> {
        print(&Line {
            input,
            canonical: None,
            error: Some(kind),
            detail: Some(detail),
            host: None,
            site: None,
            partition: None,
            fingerprint: None,
        })
    }
}

fn print(line: &Line<'_>) -> Result<(), CommandError> {
    output::line(serde_json::to_string(line).map_err(|e| CommandError::of("cannot write JSON", e))?)
}
