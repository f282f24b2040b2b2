//! Which digests come more than once, in memory that does not grow: a first pass marks each, a second one keeps what was marked
//! twice.

/// Bits of each of the two maps: 16 MiB.
const BITS: usize = 1 << 27;

/// Two maps of bits: marked once, marked again. Up to some ten million digests few are kept that came only once; beyond, more of
/// them are, which costs memory in the second pass and no wrong answer.
pub(super) struct Marks {
    once: Vec<u64>,
    again: Vec<u64>,
}

impl Marks {
    /// Nothing is marked.
    pub(super) fn new() -> Self {
        Self {
            once: vec![0; BITS / 64],
            again: vec![0; BITS / 64],
        }
    }

    /// Marks a digest.
    pub(super) fn mark(&mut self, digest: &[u8]) {
        let (word, bit) = place(digest);
        if let (Some(once), Some(again)) = (self.once.get_mut(word), self.again.get_mut(word)) {
            *again |= *once & bit;
            *once |= bit;
        }
    }

    /// Whether it may have come more than once; never false for one that has.
    pub(super) fn may_repeat(&self, digest: &[u8]) -> bool {
        let (word, bit) = place(digest);
        self.again.get(word).is_some_and(|again| again & bit != 0)
    }
}

/// Digests are evenly spread as they are.
fn place(digest: &[u8]) -> (usize, u64) {
    let first = digest.first_chunk::<8>().copied().unwrap_or_default();
    let at = u64::from_le_bytes(first) as usize % BITS;
    (at / 64, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_twice_is_found_and_what_comes_once_is_not() {
        let mut marks = Marks::new();
        let digest = |n: u8| [n; 32];
        for n in [1, 2, 3, 2, 2] {
            marks.mark(&digest(n));
        }
        let repeat: Vec<u8> = (0..5).filter(|n| marks.may_repeat(&digest(*n))).collect();
        assert_eq!(repeat, [2]);
    }
}
