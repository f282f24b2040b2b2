//! Placement: which stores a page goes to, computed the same on every machine without asking anyone.
//!
//! A digest stands on the ring of [`placement_ring`] where its first eight bytes say, big-endian; from there on upwards the
//! stores come.

use page_store::Digest;

/// The ring of some stores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ring(placement_ring::Ring);

impl Ring {
    /// The ring of these stores, whatever order they come in.
    pub fn new(store_ids: impl IntoIterator<Item = u32>) -> Self {
        Self(placement_ring::Ring::new(store_ids))
    }

    /// All stores, the first choice for this digest first.
    #[must_use]
    pub fn order(&self, digest: &Digest) -> Vec<u32> {
        self.0.order(digest_position(digest))
    }

    /// How many stores there are.
    #[must_use]
    pub const fn store_count(&self) -> usize {
        self.0.member_count()
    }
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
    fn a_page_goes_where_it_always_went() {
        // Other machines compute these; a change here moves every page.
        let ring = Ring::new([1, 2, 3]);
        let order = |first: u64| {
            let mut digest = Digest([255; 32]);
            digest.0[..8].copy_from_slice(&first.to_be_bytes());
            ring.order(&digest)[0]
        };
        // Points of store 1, as the ring pins them.
        assert_eq!(order(1_615_066_885_898_703_908), 1);
        assert_eq!(order(6_476_534_978_456_936_661), 1);
        assert_eq!(ring.store_count(), 3);
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
