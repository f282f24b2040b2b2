//! Whether the ranges of all shards make up the whole hash space.

/// Checks shards given as number, first and last hash, in any order: every hash has one owner. Why not, else.
pub fn check(shards: &[(u64, u64, u64)]) -> Result<(), String> {
    let mut sorted = shards.to_vec();
    sorted.sort_unstable_by_key(|(_, first, _)| *first);
    let mut next = Some(0);
    for (shard, first, last) in sorted {
        if next != Some(first) || last < first {
            return Err(match next {
                Some(wanted) => {
                    format!("shard {shard} is {first:016x} to {last:016x}, not from {wanted:016x}")
                }
                None => format!("shard {shard} begins after the last hash was given away"),
            });
        }
        next = last.checked_add(1);
    }
    match next {
        None => Ok(()),
        Some(free) => Err(format!("nobody owns the hashes from {free:016x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    const HALF: u64 = 1 << 63;

    #[test]
    fn every_hash_has_one_owner() {
        assert_eq!(check(&[(1, 0, u64::MAX)]), Ok(()));
        assert_eq!(check(&[(2, HALF, u64::MAX), (1, 0, HALF - 1)]), Ok(()));
    }

    #[test]
    fn gaps_overlaps_and_missing_ends_are_told() {
        let wrong = |shards: &[(u64, u64, u64)]| check(shards).err().unwrap_or_default();
        assert!(wrong(&[]).contains("0000000000000000"));
        assert!(wrong(&[(1, 0, 9)]).contains("from 000000000000000a"));
        assert!(wrong(&[(1, 0, 9), (2, 11, u64::MAX)]).contains("shard 2"));
        assert!(wrong(&[(1, 0, HALF), (2, HALF, u64::MAX)]).contains("shard 2"));
        assert!(wrong(&[(1, 0, u64::MAX), (2, HALF, u64::MAX)]).contains("shard 2"));
        assert!(wrong(&[(1, 0, 9), (2, 10, 5), (3, 6, u64::MAX)]).contains("shard 3"));
    }
}
