//! Identity of a URL: its canonical form, its site and the keys its rows live under.
//!
//! Every process of a cluster must come to the same answer, so this crate is pure: no I/O, no clock, no randomness,
//! no unordered map. The way of a URL through it:
//!
//! ```text
//! text --Canonicalizer--> CanonicalUrl --host()--> SuffixList::site --> Site --partition_hash--> PartitionHash --+
//!                             |                                                                                  +--> UrlKey
//!                             +-- FingerprintKey::fingerprint (with the CrawlId) -------------> Fingerprint -----+
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `canonicalizer`, `options`, `percent`, `query` | text to [`CanonicalUrl`], and the per-crawl options |
//! | `canonical_url`, `url_error` | the canonical form, the check on receipt, why a URL is refused |
//! | `host_name` | [`HostName`], the key of a host's clock |
//! | `queue_key` | [`QueueKey`], the label of a queue |
//! | `suffix_list`, `suffix_rule`, `site` | registrable domains by the Public Suffix List |
//! | `partition_hash`, `fingerprint`, `crawl_id`, `url_key` | the 16 bytes that key a row |
//! | `limits` | every limit |
//!
//! Three things belong to a cluster's identity and must be equal everywhere: [`CANONICALIZER_VERSION`], the text of the
//! suffix list ([`SuffixList::digest`]) and, on nodes only, the [`FingerprintKey`].

mod canonical_url;
mod canonicalizer;
mod crawl_id;
mod fingerprint;
mod host_name;
pub mod limits;
mod options;
mod partition_hash;
mod percent;
mod query;
mod queue_key;
mod site;
mod suffix_list;
mod suffix_rule;
mod url_error;
mod url_key;

#[cfg(test)]
mod field_cases_tests;
#[cfg(test)]
mod property_tests;

pub use canonical_url::CanonicalUrl;
pub use canonicalizer::{CANONICALIZER_VERSION, Canonicalizer};
pub use crawl_id::CrawlId;
pub use fingerprint::{Fingerprint, FingerprintKey};
pub use host_name::{HostError, HostName};
pub use options::{CanonicalOptions, OptionsError};
pub use partition_hash::{PartitionHash, partition_hash};
pub use queue_key::{QueueKey, QueueKeyError};
pub use site::Site;
pub use suffix_list::{SuffixList, SuffixListError};
pub use suffix_rule::RuleError;
pub use url_error::UrlError;
pub use url_key::UrlKey;
