//! What a node checks of every name it receives, and the keys it computes for the machine.

use std::sync::Arc;

use urlkey::limits::HARD_MAX_URL_BYTES;
use urlkey::{CanonicalUrl, CrawlId, Fingerprint, FingerprintKey, HostName, SuffixList};

/// Why an item is refused before the machine sees it: a snake_case name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Rejected(pub(crate) &'static str);

/// The cluster's suffix list and fingerprint secret, with the checks that need them.
#[derive(Clone)]
pub(crate) struct Verifier {
    suffixes: Arc<SuffixList>,
    key: FingerprintKey,
}

impl Verifier {
    pub(crate) const fn new(suffixes: Arc<SuffixList>, key: FingerprintKey) -> Self {
        Self { suffixes, key }
    }

    /// A canonical URL whose site lives at `partition`.
    pub(crate) fn url(&self, text: &str, partition: u64) -> Result<CanonicalUrl, Rejected> {
        let url = CanonicalUrl::verify(text, HARD_MAX_URL_BYTES)
            .map_err(|error| Rejected(error.kind()))?;
        self.site(url.host(), partition)?;
        Ok(url)
    }

    /// A canonical host whose site lives at `partition`.
    pub(crate) fn host(&self, text: &str, partition: u64) -> Result<(), Rejected> {
        let host = HostName::parse(text).map_err(|_| Rejected("invalid_host"))?;
        self.site(host.as_str(), partition)
    }

    /// "scheme://host[:port]" in canonical form, of a site that lives at `partition`. The URL has the path `/`.
    pub(crate) fn origin(&self, text: &str, partition: u64) -> Result<CanonicalUrl, Rejected> {
        let url = self.url(&format!("{text}/"), partition)?;
        if url.origin() == text {
            Ok(url)
        } else {
            Err(Rejected("not_an_origin"))
        }
    }

    /// The fingerprint of a URL in a crawl. Crawl 0, which is no crawl, keys authorities and errands.
    pub(crate) fn fingerprint(&self, crawl: u32, url: &CanonicalUrl) -> u64 {
        let Fingerprint(fingerprint) = self.key.fingerprint(CrawlId(crawl), url);
        fingerprint
    }

    /// The partition hash of a canonical host's site.
    pub(crate) fn partition_of_host(&self, text: &str) -> Result<u64, Rejected> {
        let host = HostName::parse(text).map_err(|_| Rejected("invalid_host"))?;
        Ok(self.partition(host.as_str()))
    }

    fn partition(&self, host: &str) -> u64 {
        urlkey::partition_hash(&self.suffixes.site(host)).0
    }

    fn site(&self, host: &str, partition: u64) -> Result<(), Rejected> {
        if self.partition(host) == partition {
            Ok(())
        } else {
            Err(Rejected("wrong_partition"))
        }
    }
}
