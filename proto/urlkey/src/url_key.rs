//! The key of a URL's rows.

use crate::fingerprint::Fingerprint;
use crate::partition_hash::PartitionHash;

/// The key of a URL's rows: partition hash, then fingerprint. A site is one contiguous range of keys, and the order of
/// keys is the order of their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UrlKey {
    /// Where the site lives.
    pub partition: PartitionHash,
    /// Which URL of which crawl within the site.
    pub fingerprint: Fingerprint,
}

impl UrlKey {
    /// The bytes of a key.
    pub const LENGTH_BYTES: usize = 16;

    /// Partition hash (8, big-endian), fingerprint (8, big-endian).
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.partition.0) << 64 | u128::from(self.fingerprint.0)).to_be_bytes()
    }

    /// The inverse of [`UrlKey::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let [
            p0,
            p1,
            p2,
            p3,
            p4,
            p5,
            p6,
            p7,
            f0,
            f1,
            f2,
            f3,
            f4,
            f5,
            f6,
            f7,
        ] = bytes;
        Self {
            partition: PartitionHash::from_be_bytes([p0, p1, p2, p3, p4, p5, p6, p7]),
            fingerprint: Fingerprint::from_be_bytes([f0, f1, f2, f3, f4, f5, f6, f7]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_partition_then_fingerprint() {
        let key = UrlKey {
            partition: PartitionHash(0x0102_0304_0506_0708),
            fingerprint: Fingerprint(0x1112_1314_1516_1718),
        };
        let bytes = [
            1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
        ];
        assert_eq!(key.to_bytes(), bytes);
        assert_eq!(UrlKey::from_bytes(bytes), key);
    }
}
