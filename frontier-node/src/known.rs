//! The filter of known URLs: a hint in front of RocksDB, never the truth.
//!
//! One Bloom filter a node. A negative of a *valid* group is exact (its fingerprints are all in), a positive is confirmed
//! by a read. Validity is per group: after an open or an install every read goes to RocksDB until a scan of the group's
//! seen rows has added them all. Rows that are written meanwhile enter the filter before their batch commits, so a scan
//! that starts after the group's machine exists misses nothing.

use std::collections::BTreeMap;

use bloomfilter::Bloom;
use parking_lot::RwLock;

use crate::limits::{EXPECTED_URLS, FILTER_BITS_PER_URL};

/// The filter could not be made.
#[derive(Debug, thiserror::Error)]
#[error("expected_urls: {0}")]
pub struct FilterError(String);

/// Seeds the filter's hashes. Keys hold a keyed fingerprint, so nobody outside can aim at this filter.
const SEED: [u8; 32] = *b"escapement: filter of known URLs";

/// One generation of a group's filling; rises with each open or install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(u64);

#[derive(Clone, Copy, Debug, Default)]
struct GroupState {
    generation: u64,
    valid: bool,
}

/// The node's filter.
pub struct KnownFilter {
    bloom: RwLock<Bloom<[u8]>>,
    groups: RwLock<BTreeMap<u64, GroupState>>,
    /// Tells whoever fills the filter that a generation began.
    changed: tokio::sync::watch::Sender<()>,
    size_bytes: usize,
}

impl KnownFilter {
    /// A filter for so many URLs on this node, 10 bits each.
    ///
    /// # Errors
    ///
    /// The number is out of bounds.
    pub fn new(expected_urls: u64) -> Result<Self, FilterError> {
        let (least, most) = EXPECTED_URLS;
        if !(least..=most).contains(&expected_urls) {
            return Err(FilterError(format!(
                "{expected_urls} is not from {least} to {most}"
            )));
        }
        let size_bytes =
            usize::try_from(expected_urls * FILTER_BITS_PER_URL / 8).unwrap_or(usize::MAX);
        let items = usize::try_from(expected_urls).unwrap_or(usize::MAX);
        let bloom = Bloom::new_with_seed(size_bytes, items, &SEED)
            .map_err(|error| FilterError(error.to_owned()))?;
        Ok(Self {
            bloom: RwLock::new(bloom),
            groups: RwLock::default(),
            changed: tokio::sync::watch::Sender::new(()),
            size_bytes,
        })
    }

    /// Memory of the bits.
    pub const fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The group's negatives are no longer exact. Returns the generation that the next scan fills.
    pub fn invalidate(&self, group: u64) -> Generation {
        let mut groups = self.groups.write();
        let state = groups.entry(group).or_default();
        state.generation += 1;
        state.valid = false;
        let generation = Generation(state.generation);
        drop(groups);
        self.changed.send_replace(());
        generation
    }

    /// Changes whenever a generation of any group begins.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Adds keys: before their batch commits, or by a scan.
    pub fn insert<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        let mut keys = keys.peekable();
        if keys.peek().is_none() {
            return;
        }
        let mut bloom = self.bloom.write();
        for key in keys {
            bloom.set(key);
        }
    }

    /// A scan of the generation has added all rows. False when the group was invalidated meanwhile.
    pub fn complete(&self, group: u64, generation: Generation) -> bool {
        let mut groups = self.groups.write();
        let Some(state) = groups
            .get_mut(&group)
            .filter(|state| state.generation == generation.0)
        else {
            return false;
        };
        state.valid = true;
        true
    }

    /// The generation to fill; `None` before the group was first opened.
    pub fn generation(&self, group: u64) -> Option<Generation> {
        self.groups
            .read()
            .get(&group)
            .map(|state| Generation(state.generation))
    }

    /// Whether the generation is still the one to fill.
    pub fn is_current(&self, group: u64, generation: Generation) -> bool {
        self.groups
            .read()
            .get(&group)
            .is_some_and(|state| state.generation == generation.0)
    }

    /// Whether the group's negatives are exact.
    pub fn is_valid(&self, group: u64) -> bool {
        self.groups
            .read()
            .get(&group)
            .is_some_and(|state| state.valid)
    }

    /// Which of the keys may have a row; all of them while the group is not valid.
    pub fn may_hold(&self, group: u64, keys: &[Vec<u8>]) -> Vec<bool> {
        if !self.is_valid(group) {
            return vec![true; keys.len()];
        }
        let bloom = self.bloom.read();
        keys.iter().map(|key| bloom.check(key)).collect()
    }

    /// Whether the key surely has no row.
    pub fn surely_absent(&self, group: u64, key: &[u8]) -> bool {
        self.is_valid(group) && !self.bloom.read().check(key)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(number: u64) -> Vec<u8> {
        [
            number.to_be_bytes(),
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes(),
        ]
        .concat()
    }

    fn fill(filter: &KnownFilter, numbers: std::ops::Range<u64>) {
        let keys: Vec<_> = numbers.map(key).collect();
        filter.insert(keys.iter().map(Vec::as_slice));
    }

    #[test]
    fn nothing_is_absent_before_the_scan_is_complete() {
        let filter = KnownFilter::new(1_000).unwrap();
        assert!(!filter.surely_absent(1, &key(1)));
        let generation = filter.invalidate(1);
        assert_eq!(filter.may_hold(1, &[key(1)]), [true]);
        assert!(filter.complete(1, generation));
        assert!(filter.surely_absent(1, &key(1)));
        assert!(
            !filter.surely_absent(2, &key(1)),
            "another group is not valid yet"
        );
    }

    // case J7: validity follows the generation; a scan that began before an install cannot make the group valid.
    #[test]
    fn a_scan_of_an_older_generation_does_not_count() {
        let filter = KnownFilter::new(1_000).unwrap();
        let old = filter.invalidate(1);
        let new = filter.invalidate(1);
        assert!(!filter.is_current(1, old) && filter.is_current(1, new));
        assert!(!filter.complete(1, old));
        assert!(!filter.is_valid(1));
        assert!(filter.complete(1, new) && filter.is_valid(1));
    }

    #[test]
    fn ten_bits_a_url_give_under_one_percent_of_false_positives() {
        let filter = KnownFilter::new(100_000).unwrap();
        assert_eq!(filter.size_bytes(), 125_000);
        let generation = filter.invalidate(1);
        fill(&filter, 0..100_000);
        assert!(filter.complete(1, generation));
        assert!((0..100_000).all(|number| !filter.surely_absent(1, &key(number))));
        let misses: Vec<_> = (1_000_000..1_100_000).map(key).collect();
        let positives = filter
            .may_hold(1, &misses)
            .into_iter()
            .filter(|held| *held)
            .count();
        assert!(positives < 1_000, "{positives} of 100000");
    }

    #[test]
    fn a_size_out_of_bounds_is_named() {
        assert!(
            KnownFilter::new(0)
                .err()
                .unwrap()
                .to_string()
                .contains("expected_urls")
        );
    }
}
