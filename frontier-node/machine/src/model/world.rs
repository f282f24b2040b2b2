//! The few hosts, URLs and crawls that random commands and scripts speak of.

use crate::{
    command::discover::{Errand, Link},
    hash,
};

/// Range of the shard under test.
pub const RANGE: (u64, u64) = (0, 0xfff);

/// Partition hash and origin. The last lies outside the range.
pub const ORIGINS: [(u64, &str); 6] = [
    (0x10, "http://a.one.example"),
    (0x10, "https://a.one.example"),
    (0x10, "http://b.one.example"),
    (0x20, "http://two.example"),
    (0x20, "http://two.example:8080"),
    (0x1000, "http://outside.example"),
];

/// Partition hash of a host of [`ORIGINS`], else a hash inside the range.
pub fn partition(url: &str) -> u64 {
    let host = crate::authority::Authority::of(url).map_or("", |(host, _)| host);
    let known = ORIGINS.iter().find(|(_, origin)| {
        crate::authority::Authority::of(origin).is_some_and(|(name, _)| name == host)
    });
    known.map_or_else(
        || hash::bytes(7, host.as_bytes()) & 0xff,
        |(partition, _)| *partition,
    )
}

/// Fingerprint of a crawl's URL.
pub fn fingerprint(crawl: u32, url: &str) -> u64 {
    hash::bytes(u64::from(crawl), url.as_bytes())
}

/// A link as a node would offer it.
pub fn link(crawl: u32, url: &str, priority: u32) -> Link {
    Link {
        crawl,
        url: url.into(),
        partition: partition(url),
        fingerprint: fingerprint(crawl, url),
        priority,
        ..Link::default()
    }
}

/// An errand as a node would offer it.
pub fn errand(origin: &str, url: &str, hop: u32, attempt: u32) -> Errand {
    Errand {
        url: url.into(),
        partition: partition(url),
        origin: origin.into(),
        origin_partition: partition(origin),
        hop,
        attempt,
        fingerprint: hash::bytes(99, origin.as_bytes()),
    }
}
