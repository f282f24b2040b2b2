//! A crawl, as every shard must know it.

/// One crawl. Its number is never reused.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Crawl {
    /// From 1.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// For people.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Its policy, encoded as the shards' `set_policy` takes it and checked by whoever proposed it; the map only
    /// carries it.
    #[prost(bytes = "vec", tag = "3")]
    pub policy: Vec<u8>,
    /// It is being removed, or was: no URL of it is accepted any more.
    #[prost(bool, tag = "4")]
    pub removed: bool,
    /// The map's version at the last change: a shard that took an older one takes it again.
    #[prost(uint64, tag = "5")]
    pub changed_version: u64,
}
