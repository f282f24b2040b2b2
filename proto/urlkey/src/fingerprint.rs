//! The keyed hash that stands for a URL within a crawl.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use crate::canonical_url::CanonicalUrl;
use crate::crawl_id::CrawlId;

/// 64 bits that stand for (crawl, canonical URL). Two URLs of one site share one with odds of n^2/2^65.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// Big-endian, so that the order of the bytes is the order of the numbers.
    #[must_use]
    pub fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// The inverse of [`Fingerprint::to_be_bytes`].
    #[must_use]
    pub fn from_be_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }
}

impl fmt::Display for Fingerprint {
    /// Sixteen hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The cluster's fingerprint secret: without it nobody can make two URLs collide. It never leaves the nodes, so its
/// bytes are not shown by `Debug`.
///
/// The hash is SipHash-2-4 rather than the faster 1-3: fingerprints are stored for good and the algorithm cannot be
/// changed later, so the variant with the wider security margin is worth its few nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FingerprintKey([u8; 16]);

impl FingerprintKey {
    /// All zero: for tools that show a fingerprint without a cluster's secret.
    pub const ZERO: Self = Self([0; 16]);

    /// Takes the secret's bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The secret's bytes, for storing the cluster's identity.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The fingerprint of a URL in a crawl.
    #[must_use]
    pub fn fingerprint(&self, crawl: CrawlId, url: &CanonicalUrl) -> Fingerprint {
        Fingerprint(self.hash(crawl, url.as_str().as_bytes()))
    }

    /// SipHash-2-4 of the crawl's four bytes and then the text: injective, because the first part has a fixed length.
    fn hash(&self, crawl: CrawlId, text: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&crawl.to_be_bytes());
        hasher.write(text);
        hasher.finish()
    }
}

impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintKey(secret)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::Canonicalizer;

    #[test]
    fn agrees_with_the_published_vector() {
        // SipHash-2-4 paper, appendix A: key 00..0f, message 00..0e; its first four bytes stand for the crawl.
        let key = FingerprintKey::from_bytes(std::array::from_fn(|i| u8::try_from(i).unwrap()));
        let message: Vec<u8> = (4..15).collect();
        assert_eq!(
            key.hash(CrawlId(0x0001_0203), &message),
            0xa129_ca61_49be_45e5
        );
    }

    #[test]
    fn depends_on_key_crawl_and_url() {
        let canonicalizer = Canonicalizer::default();
        let a = canonicalizer.canonicalize("http://a.example/").unwrap();
        let b = canonicalizer.canonicalize("http://b.example/").unwrap();
        let other = FingerprintKey::from_bytes([1; 16]);
        let base = FingerprintKey::ZERO.fingerprint(CrawlId(1), &a);
        assert_eq!(base, FingerprintKey::ZERO.fingerprint(CrawlId(1), &a));
        assert_ne!(base, FingerprintKey::ZERO.fingerprint(CrawlId(2), &a));
        assert_ne!(base, FingerprintKey::ZERO.fingerprint(CrawlId(1), &b));
        assert_ne!(base, other.fingerprint(CrawlId(1), &a));
    }

    #[test]
    fn does_not_show_the_secret() {
        assert_eq!(
            format!("{:?}", FingerprintKey::from_bytes([7; 16])),
            "FingerprintKey(secret)"
        );
    }
}
