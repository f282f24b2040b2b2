//! What a fake web is made of.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::limits;

/// Everything that decides what is generated and how it is served.
///
/// Only `hosts`, `seed`, `shape` and `features` decide what exists; the rest decides how it is served.
#[derive(Clone, Debug)]
pub struct FakeWebOptions {
    /// Number of hosts, at least 1.
    pub hosts: u32,
    /// Seed of everything generated.
    pub seed: u64,
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// File for the arrival log, JSON lines; none keeps arrivals in memory only.
    pub log: Option<PathBuf>,
    /// Append to the log file instead of replacing it, for a server restarted within one experiment.
    pub log_append: bool,
    /// Keep arrivals in memory too, up to [`limits::MAX_KEPT_ARRIVALS`].
    pub keep_arrivals: bool,
    /// Threads that serve, at least 1.
    pub threads: usize,
    /// Sizes, counts and delays.
    pub shape: Shape,
    /// What occurs at all.
    pub features: Features,
}

impl FakeWebOptions {
    /// A web of `hosts` hosts with every feature but `oversize`, on a free loopback port.
    pub fn new(hosts: u32, seed: u64) -> Self {
        Self {
            hosts,
            seed,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            log: None,
            log_append: false,
            keep_arrivals: true,
            threads: 1,
            shape: Shape::default(),
            features: Features::default(),
        }
    }

    /// Refuses values outside [`limits`], naming the option.
    pub fn validate(&self) -> Result<(), FakeWebError> {
        let shape = &self.shape;
        within("hosts", self.hosts, 1, limits::MAX_HOSTS)?;
        within("threads", self.threads as u32, 1, 1024)?;
        within(
            "mean_pages",
            shape.mean_pages,
            1,
            limits::MAX_PAGES_PER_HOST,
        )?;
        within(
            "max_pages_per_host",
            shape.max_pages_per_host,
            1,
            limits::MAX_PAGES_PER_HOST,
        )?;
        within(
            "links_per_page",
            shape.links_per_page,
            0,
            limits::MAX_LINKS_PER_PAGE,
        )?;
        within("fan_out", shape.fan_out, 1, limits::MAX_FAN_OUT)?;
        within(
            "body_max_bytes",
            shape.body_max_bytes,
            0,
            limits::MAX_BODY_BYTES,
        )?;
        within(
            "body_min_bytes",
            shape.body_min_bytes,
            0,
            shape.body_max_bytes,
        )?;
        within("slow_max_ms", shape.slow_max_ms, 0, limits::MAX_DELAY_MS)?;
        within("slow_min_ms", shape.slow_min_ms, 0, shape.slow_max_ms)?;
        within(
            "latency_max_ms",
            shape.latency_max_ms,
            0,
            limits::MAX_DELAY_MS,
        )?;
        within(
            "latency_min_ms",
            shape.latency_min_ms,
            0,
            shape.latency_max_ms,
        )
    }
}

fn within(option: &'static str, value: u32, least: u32, most: u32) -> Result<(), FakeWebError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(FakeWebError::OutOfRange {
        option,
        value,
        least,
        most,
    })
}

/// Sizes, counts and delays of a fake web.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Mean URLs a host, about; sizes are Zipf-like, from 1 to `max_pages_per_host`.
    pub mean_pages: u32,
    /// Most URLs of one host. At one fetch a second it bounds a crawl's time in seconds: slow hosts and
    /// hosts with a crawl-delay are made smaller in proportion (a crawler is taken to wait ten response
    /// times between fetches).
    pub max_pages_per_host: u32,
    /// Links a page carries, about; pages that hold the web together may carry more.
    pub links_per_page: u32,
    /// Roots of other hosts linked from one root: all hosts form a tree of this width.
    pub fan_out: u32,
    /// Smallest HTML or text body, in bytes, about.
    pub body_min_bytes: u32,
    /// Largest HTML or text body, in bytes, about.
    pub body_max_bytes: u32,
    /// Shortest wait before the first byte at a slow host, in milliseconds.
    pub slow_min_ms: u32,
    /// Longest wait before the first byte at a slow host, in milliseconds.
    pub slow_max_ms: u32,
    /// Shortest wait before the first byte everywhere else, in milliseconds.
    pub latency_min_ms: u32,
    /// Longest wait before the first byte everywhere else, in milliseconds.
    pub latency_max_ms: u32,
    /// Put body digests into the manifest; without them it is written many times faster.
    pub manifest_digests: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            mean_pages: 8,
            max_pages_per_host: 60,
            links_per_page: 12,
            fan_out: 256,
            body_min_bytes: 600,
            body_max_bytes: 8_000,
            slow_min_ms: 300,
            slow_max_ms: 1_500,
            latency_min_ms: 0,
            latency_max_ms: 0,
            manifest_digests: true,
        }
    }
}

/// What occurs in a fake web. Each is on by default but `oversize`.
#[derive(Clone, Debug)]
pub struct Features {
    /// Robots files that disallow some paths, and a few that disallow all.
    pub robots_rules: bool,
    /// Robots files with a crawl-delay of 1 to 3 s, at small hosts.
    pub crawl_delay: bool,
    /// Robots files that answer 5xx: nothing of the host may be fetched.
    pub robots_errors: bool,
    /// Robots files redirected within the host and to another host.
    pub robots_redirects: bool,
    /// Robots files of about 600 kB; nothing but comments lies beyond 500 KiB (RFC 9309 section 2.5).
    pub robots_huge: bool,
    /// Redirects within and across hosts, and chains of up to three.
    pub redirects: bool,
    /// Redirects that lead back to themselves.
    pub redirect_loops: bool,
    /// `ETag` and `Last-Modified`, and 304 to a conditional request (RFC 9110 section 13).
    pub validators: bool,
    /// Hosts whose first byte comes late.
    pub slow_hosts: bool,
    /// URLs that answer 404 and 410.
    pub client_errors: bool,
    /// URLs that always answer 500; at most one a host.
    pub server_errors: bool,
    /// URLs that answer 503 with `Retry-After` once or twice, then 200; at most one a host.
    pub flaky: bool,
    /// Bodies shorter than their `Content-Length`; at most one a host.
    pub truncated: bool,
    /// Plain text and images.
    pub non_html: bool,
    /// The same bytes at several hosts.
    pub duplicates: bool,
    /// Empty bodies with status 200.
    pub empty: bool,
    /// Pages of [`limits::OVERSIZE_BYTES`]. Off by default.
    pub oversize: bool,
    /// gzip and deflate for those who accept them.
    pub compression: bool,
    /// Bodies in chunks instead of with a `Content-Length`.
    pub chunked: bool,
    /// Pages in other charsets than UTF-8.
    pub charsets: bool,
    /// Several spellings of one URL, and paths that need care.
    pub spellings: bool,
}

impl Default for Features {
    fn default() -> Self {
        let mut features = Self::every(true);
        features.oversize = false;
        features
    }
}

impl Features {
    /// Plain 200 HTML pages without a robots file's restrictions: for benches.
    pub fn none() -> Self {
        Self::every(false)
    }

    fn every(on: bool) -> Self {
        Self {
            robots_rules: on,
            crawl_delay: on,
            robots_errors: on,
            robots_redirects: on,
            robots_huge: on,
            redirects: on,
            redirect_loops: on,
            validators: on,
            slow_hosts: on,
            client_errors: on,
            server_errors: on,
            flaky: on,
            truncated: on,
            non_html: on,
            duplicates: on,
            empty: on,
            oversize: on,
            compression: on,
            chunked: on,
            charsets: on,
            spellings: on,
        }
    }
}

/// Why a fake web did not start.
#[derive(Debug, thiserror::Error)]
pub enum FakeWebError {
    /// An option lies outside its range.
    #[error("{option} is {value}, must be between {least} and {most}")]
    OutOfRange {
        /// The option's field name.
        option: &'static str,
        /// What was given.
        value: u32,
        /// Smallest value accepted.
        least: u32,
        /// Largest value accepted.
        most: u32,
    },
    /// The listener could not be bound.
    #[error("cannot listen on {listen}: {source}")]
    Listen {
        /// The address asked for.
        listen: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The log file could not be opened.
    #[error("cannot open the arrival log {}: {source}", path.display())]
    Log {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A thread or runtime could not be started.
    #[error("cannot start serving: {0}")]
    Runtime(#[source] std::io::Error),
}
