//! Where in the hash space a site lives.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use crate::site::Site;

/// XXH3-64 of a site's ASCII: a shard owns a range of these. Not secret, computed by clients as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionHash(pub u64);

impl PartitionHash {
    /// The first one.
    pub const MIN: Self = Self(0);
    /// The last one.
    pub const MAX: Self = Self(u64::MAX);

    /// Big-endian, so that the order of the bytes is the order of the numbers.
    #[must_use]
    pub fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// The inverse of [`PartitionHash::to_be_bytes`].
    #[must_use]
    pub fn from_be_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }
}

impl fmt::Display for PartitionHash {
    /// Sixteen hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The partition hash of a site.
#[must_use]
pub fn partition_hash(site: &Site) -> PartitionHash {
    PartitionHash(xxh3_64(site.as_str().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_xxh3_64_without_a_seed() {
        // The published value of XXH3-64 for no input: the algorithm and the seed must never change.
        assert_eq!(
            partition_hash(&Site::new("")),
            PartitionHash(0x2d06_8005_38d3_94c2)
        );
        assert_eq!(
            partition_hash(&Site::new("example.com")),
            partition_hash(&Site::new("example.com"))
        );
        assert_ne!(
            partition_hash(&Site::new("example.com")),
            partition_hash(&Site::new("example.org"))
        );
    }

    #[test]
    fn shows_sixteen_digits() {
        assert_eq!(PartitionHash(0xab).to_string(), "00000000000000ab");
        assert_eq!(
            PartitionHash::from_be_bytes([0, 0, 0, 0, 0, 0, 1, 2]),
            PartitionHash(258)
        );
    }
}
