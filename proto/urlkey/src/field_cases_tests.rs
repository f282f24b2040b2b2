//! Cases from the field that touch canonical URLs and keys, one test each, named after the case.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::{Canonicalizer, CrawlId, FingerprintKey, SuffixList, UrlKey, partition_hash};

mod host_cases;
mod text_cases;

fn canonical(input: &str) -> String {
    Canonicalizer::default()
        .canonicalize(input)
        .unwrap_or_else(|error| panic!("{input}: {error}"))
        .to_string()
}

fn kind(input: &str) -> &'static str {
    Canonicalizer::default()
        .canonicalize(input)
        .expect_err(input)
        .kind()
}

fn joined(base: &str, reference: &str) -> String {
    let canonicalizer = Canonicalizer::default();
    let base = canonicalizer.canonicalize(base).unwrap();
    canonicalizer
        .join(&base, reference)
        .unwrap_or_else(|error| panic!("{reference}: {error}"))
        .to_string()
}

fn key(url: &str) -> UrlKey {
    let url = Canonicalizer::default().canonicalize(url).unwrap();
    let partition = partition_hash(&SuffixList::shipped().site(url.host()));
    UrlKey {
        partition,
        fingerprint: FingerprintKey::ZERO.fingerprint(CrawlId(1), &url),
    }
}
