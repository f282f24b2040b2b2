//! Tags are pinned and apart, ranges hold exactly their shard, keys order as their numbers (case J16).

use super::*;
use crate::authority::Authority;

#[test]
fn tags_are_pinned_and_apart() {
    assert_eq!(&TAGS, b"BCDEHLMNOQRSUV");
    let mut partitioned = PARTITIONED.to_vec();
    partitioned.extend([meta::TAG, crawl::TAG, session::TAG]);
    partitioned.sort_unstable();
    assert_eq!(partitioned, TAGS);
}

#[test]
fn ranges_hold_their_partitions_only() {
    let ranges = key_ranges(ShardId(7), 100, 200);
    assert_eq!(ranges.len(), TAGS.len());
    let holds = |key: Vec<u8>| {
        ranges
            .iter()
            .filter(|(from, to)| *from <= key && key < *to)
            .count()
    };
    assert_eq!(holds(seen::key(100, 0)), 1);
    assert_eq!(holds(seen::key(200, u64::MAX)), 1);
    assert_eq!(holds(seen::key(99, u64::MAX)), 0);
    assert_eq!(holds(seen::key(201, 0)), 0);
    assert_eq!(holds(meta::key(ShardId(7))), 1);
    assert_eq!(holds(meta::key(ShardId(8))), 0);
    let whole = key_ranges(ShardId(u64::MAX), 0, u64::MAX);
    assert!(
        whole
            .iter()
            .any(|(from, to)| *from <= seen::key(u64::MAX, u64::MAX)
                && seen::key(u64::MAX, u64::MAX) < *to)
    );
    assert!(
        whole
            .iter()
            .any(|(from, to)| *from <= meta::key(ShardId(u64::MAX))
                && meta::key(ShardId(u64::MAX)) < *to)
    );
}

// case J16
#[test]
fn keys_order_as_their_numbers_and_decode_checked() {
    let authority = Authority {
        https: true,
        port: 443,
    };
    let place = |priority, due_ms, fingerprint| queue::Place {
        crawl: 1,
        authority,
        priority,
        due_ms,
        fingerprint,
    };
    let key = |place| queue::key(5, "a.example", place);
    assert!(key(place(1, u64::MAX, 9)) < key(place(2, 0, 0)));
    assert!(key(place(1, 255, 9)) < key(place(1, 256, 0)));
    assert!(key(place(1, 1, 255)) < key(place(1, 1, 256)));
    assert_eq!(
        queue::parse(5, "a.example", &key(place(3, 77, 12))).unwrap(),
        place(3, 77, 12)
    );
    assert!(queue::parse(5, "a.example", b"Q").is_err());
    assert!(schedule::key(5, "a", 255, 0) < schedule::key(5, "a", 256, 0));
    assert_eq!(
        schedule::parse("a", &schedule::key(5, "a", 255, 3)).unwrap(),
        (255, 3)
    );
    assert!(schedule::parse("a", b"V123").is_err());
}

// case B25
#[test]
fn host_keys_are_injective() {
    let authority = Authority {
        https: false,
        port: 80,
    };
    let of = |host: &str| queue::lanes(1, host, Some(1), Some(authority));
    let (from, to) = of("a.example");
    for other in ["a.example.org", "a.exampl", "a", "aa.example", "a.example0"] {
        let (start, _) = of(other);
        assert!(start < from || start >= to, "{other}");
    }
    assert_ne!(host::key(1, "foo.example"), host::key(1, "foo"));
}

#[test]
fn seen_keys_are_seventeen_bytes() {
    assert_eq!(
        seen::key(1, 2),
        [&[b'S'][..], &1u64.to_be_bytes(), &2u64.to_be_bytes()].concat()
    );
}
