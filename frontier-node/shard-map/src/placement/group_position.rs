//! Where groups stand on the consistent-hash ring.

use xxhash_rust::xxh3::xxh3_64;

/// Where a group stands on the ring. Of its number, not of its range: a split leaves the parent where it is.
#[must_use]
pub fn group_position(group: u64) -> u64 {
    let mut bytes = *b"group\0\0\0\0\0\0\0\0";
    bytes[5..].copy_from_slice(&group.to_be_bytes());
    xxh3_64(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use placement_ring::Ring;

    #[test]
    fn positions_are_the_same_everywhere() {
        // Every node computes these; another answer here moves every replica of every cluster.
        assert_eq!(
            [
                group_position(0),
                group_position(1),
                group_position(u64::MAX)
            ],
            [
                3_920_163_636_878_579_271,
                3_489_619_056_975_115_297,
                12_911_809_803_251_800_923
            ]
        );
        let ring = Ring::new(1..=5);
        let orders: Vec<Vec<u32>> = (0..6).map(|g| ring.order(group_position(g))).collect();
        let pinned = [
            [5, 3, 4, 1, 2],
            [2, 4, 3, 1, 5],
            [2, 4, 5, 3, 1],
            [2, 1, 3, 4, 5],
            [4, 3, 5, 1, 2],
            [5, 3, 4, 1, 2],
        ];
        assert_eq!(orders, pinned);
    }
}
