//! `remove`: one bounded slice of removing a URL, a host's queue or a crawl.

mod apply;
mod crawl;
#[cfg(test)]
mod tests;
mod url;

/// One slice.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Remove {
    /// Crawl id.
    #[prost(uint32, tag = "1")]
    pub crawl: u32,
    /// What.
    #[prost(oneof = "Target", tags = "2, 3, 4")]
    pub target: Option<Target>,
    /// Forget `seen` too, so that the URLs may come again.
    #[prost(bool, tag = "5")]
    pub forget: bool,
    /// Empty at the start; else as the last slice answered.
    #[prost(bytes = "vec", tag = "6")]
    pub cursor: Vec<u8>,
}

/// What is removed.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Target {
    /// One URL.
    #[prost(message, tag = "2")]
    Url(UrlTarget),
    /// A host's queue and schedule in the crawl.
    #[prost(message, tag = "3")]
    Host(HostTarget),
    /// Everything of the crawl; it takes no new URLs from the first slice on.
    #[prost(message, tag = "4")]
    Crawl(CrawlTarget),
}

/// One URL.
#[derive(Clone, PartialEq, prost::Message)]
pub struct UrlTarget {
    /// Partition hash.
    #[prost(fixed64, tag = "1")]
    pub partition: u64,
    /// Fingerprint.
    #[prost(fixed64, tag = "2")]
    pub fingerprint: u64,
    /// The canonical URL: a queued URL is found in its host's queue.
    #[prost(string, tag = "3")]
    pub url: String,
}

/// One host.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HostTarget {
    /// Partition hash.
    #[prost(fixed64, tag = "1")]
    pub partition: u64,
    /// Canonical host name.
    #[prost(string, tag = "2")]
    pub host: String,
}

/// The whole crawl.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CrawlTarget {}

/// The answer to one slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoveReply {
    /// Removed by this slice.
    pub removed: u64,
    /// Leased now; they close as removed.
    pub marked: u64,
    /// Not empty: more to do.
    pub cursor: Vec<u8>,
    /// Empty, or why nothing was done.
    pub refused: &'static str,
}
