//! A shard: a range of the partition hash and who replicates it.

use super::members::Members;

/// One shard. Its number is never reused.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Shard {
    /// From 1; 0 is the cluster's own group.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// First hash.
    #[prost(fixed64, tag = "2")]
    pub first: u64,
    /// Last hash, inclusive.
    #[prost(fixed64, tag = "3")]
    pub last: u64,
    /// Its replicas.
    #[prost(message, required, tag = "4")]
    pub members: Members,
}

impl Shard {
    /// Whether it owns a hash.
    #[must_use]
    pub const fn holds(&self, partition: u64) -> bool {
        self.first <= partition && partition <= self.last
    }

    /// Whether a child may begin at this hash, so that both keep something.
    #[must_use]
    pub const fn splits_at(&self, at: u64) -> bool {
        self.first < at && at <= self.last
    }
}

/// `count` ranges (first, last) of equal size that tile the whole hash space.
#[must_use]
pub fn equal_ranges(count: u64) -> Vec<(u64, u64)> {
    let bound = |index: u64| {
        u64::try_from((u128::from(index) << 64) / u128::from(count.max(1))).unwrap_or(u64::MAX)
    };
    let last = |index: u64| {
        if index + 1 == count {
            u64::MAX
        } else {
            bound(index + 1) - 1
        }
    };
    (0..count)
        .map(|index| (bound(index), last(index)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ranges_tile_the_space() {
        for count in [1, 2, 3, 7, 16, 1_000] {
            let ranges = equal_ranges(count);
            assert_eq!(ranges.len() as u64, count);
            assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, u64::MAX));
            assert!(ranges.windows(2).all(|w| w[0].1 + 1 == w[1].0));
        }
    }
}
