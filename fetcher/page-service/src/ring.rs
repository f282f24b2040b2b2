//! Placement: which stores a page goes to, computed the same on every machine without asking anyone.
//!
//! Each store has [`RING_POINTS`] points on a ring of 64-bit numbers: the XXH3 of its id and the point's number, both four bytes
//! big-endian. A digest stands where its first eight bytes say, big-endian; from there on upwards the stores come in the order in
//! which their points are met. A store that is added takes its share from all others and moves nothing else.

use std::collections::BTreeSet;

use page_store::Digest;
use xxhash_rust::xxh3::xxh3_64;

use crate::limits::RING_POINTS;

/// The ring of some stores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// By position; two stores at one position come by id.
    points: Vec<(u64, u32)>,
    store_count: usize,
}

impl Ring {
    /// The ring of these stores, whatever order they come in.
    pub fn new(store_ids: impl IntoIterator<Item = u32>) -> Self {
        let ids: BTreeSet<u32> = store_ids.into_iter().collect();
        let mut points: Vec<(u64, u32)> = ids
            .iter()
            .flat_map(|id| (0..RING_POINTS).map(|point| (position(*id, point), *id)))
            .collect();
        points.sort_unstable();
        Self {
            points,
            store_count: ids.len(),
        }
    }

    /// All stores, the first choice for this digest first.
    #[must_use]
    pub fn order(&self, digest: &Digest) -> Vec<u32> {
        let start = self
            .points
            .partition_point(|(at, _)| *at < digest_position(digest));
        let mut order = Vec::with_capacity(self.store_count);
        let mut met = BTreeSet::new();
        for (_, id) in self.points[start..].iter().chain(&self.points[..start]) {
            if met.insert(*id) {
                order.push(*id);
            }
            if order.len() == self.store_count {
                break;
            }
        }
        order
    }

    /// How many stores there are.
    #[must_use]
    pub const fn store_count(&self) -> usize {
        self.store_count
    }
}

fn position(store_id: u32, point: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&store_id.to_be_bytes());
    bytes[4..].copy_from_slice(&point.to_be_bytes());
    xxh3_64(&bytes)
}

fn digest_position(digest: &Digest) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest.0[..8]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const PAGES: u32 = 6_000;

    fn digests() -> impl Iterator<Item = Digest> {
        (0..PAGES).map(|at| Digest::of(&at.to_be_bytes()))
    }

    #[test]
    fn the_order_is_a_permutation_that_depends_on_ids_only() {
        let ring = Ring::new([3, 1, 65_538]);
        assert_eq!(ring, Ring::new([65_538, 3, 1, 1]));
        for digest in digests().take(100) {
            let mut order = ring.order(&digest);
            order.sort_unstable();
            assert_eq!(order, [1, 3, 65_538]);
        }
        assert_eq!(Ring::new([]).order(&Digest::of(b"")), Vec::<u32>::new());
        assert_eq!(Ring::new([9]).order(&Digest::of(b"")), [9]);
    }

    #[test]
    fn positions_are_the_same_everywhere() {
        // Other machines compute these; a change here moves every page.
        assert_eq!(
            [position(1, 0), position(1, 99), position(65_538, 7)],
            [
                1_615_066_885_898_703_908,
                6_476_534_978_456_936_661,
                4_142_903_826_410_620_185
            ]
        );
        let wraps = Digest([255; 32]);
        let ring = Ring::new([1, 2, 3]);
        assert_eq!(ring.order(&wraps)[0], ring.points[0].1);
    }

    #[test]
    fn stores_get_about_the_same_as_first_and_as_second_copy() {
        let ring = Ring::new(1..=5);
        for copy in 0..2 {
            let mut counts = BTreeMap::new();
            for digest in digests() {
                *counts.entry(ring.order(&digest)[copy]).or_insert(0u32) += 1;
            }
            let fair = PAGES / 5;
            assert!(
                counts
                    .values()
                    .all(|count| (fair * 7 / 10..=fair * 13 / 10).contains(count)),
                "copy {copy}: {counts:?}"
            );
        }
    }

    #[test]
    fn a_new_store_takes_its_share_and_nothing_else_moves() {
        for n in 2..=8u32 {
            let (before, after) = (Ring::new(1..n), Ring::new(1..=n));
            let mut moved = 0;
            for digest in digests() {
                let (old, new) = (before.order(&digest), after.order(&digest));
                if old[0] != new[0] {
                    moved += 1;
                    assert_eq!(new[0], n, "a page moves to the new store only");
                }
                let others: Vec<u32> = new.into_iter().filter(|id| *id != n).collect();
                assert_eq!(old, others, "the old stores keep their order");
            }
            let share = PAGES / n;
            assert!(
                (share * 6 / 10..=share * 14 / 10).contains(&moved),
                "store {n} took {moved}, its share is {share}"
            );
        }
    }
}
