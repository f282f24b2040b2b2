//! The command lines of `hosts`, `queues`, `seed`, `block`, `delay`, `pause` and `remove`.

use super::super::ask::End;
use crate::duration;
use std::path::PathBuf;
use std::time::Duration;
use urlkey::{CanonicalUrl, Canonicalizer, HostName};

/// Longest duration of a policy, ms.
const POLICY_MS: u64 = machine::limits::POLICY_DURATION_MS;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(in crate::ctl) enum Command {
    /// A host: its clock, queue, robots, budget and lease, and why it is or is not released now.
    Hosts(HostsArgs),
    /// What waits: by shard, by crawl, and the longest queues.
    Queues(QueuesArgs),
    /// Offer URLs to a crawl.
    Seed(SeedArgs),
    /// Lease nothing of a host for a while.
    Block(BlockArgs),
    /// End a host's block.
    Unblock(HostArgs),
    /// Set the least time between two contacts of a host. It only ever lengthens what crawls and robots.txt ask.
    Delay(DelayArgs),
    /// Lease nothing of a host, a crawl or at all, until it is resumed. What is leased already is fetched.
    Pause(PauseArgs),
    /// End a pause of a host, of a crawl, or of all.
    Resume(PauseArgs),
    /// Remove a URL, a host's URLs or a whole crawl.
    Remove(RemoveArgs),
    /// Give up a page store: what had its only copy there is fetched again.
    LostStore(LostStoreArgs),
    /// Payloads that are stored under several URLs, and hosts that mirror each other.
    Duplicates(DuplicatesArgs),
}

impl Command {
    /// Whether what is dangerous was confirmed.
    pub(in crate::ctl) fn check(&self) -> Result<(), End> {
        match self {
            Self::Remove(args) if !args.yes => {
                let what = args.what.shown();
                Err(unconfirmed(&format!("removing {what}")))
            }
            Self::LostStore(args) if !args.yes => {
                Err(unconfirmed(&format!("giving up store {}", args.store)))
            }
            _ => Ok(()),
        }
    }
}

fn unconfirmed(what: &str) -> End {
    End::Usage(format!(
        "{what} cannot be taken back: give --yes to do it; nothing was done"
    ))
}

/// Arguments of `hosts`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct HostsArgs {
    #[command(flatten)]
    pub(super) whose: Whose,
    /// Of a site, list so many hosts: those with the longest queues.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(super) top: u16,
}

/// A host or all of a site.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(in crate::ctl) struct Whose {
    /// The host, canonical and without a port.
    #[arg(value_parser = host)]
    pub(super) host: Option<HostName>,
    /// All hosts of the site of this one.
    #[arg(long, value_name = "HOST", value_parser = host)]
    pub(super) site: Option<HostName>,
}

/// Arguments of `queues`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct QueuesArgs {
    /// Of this crawl only.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) crawl: Option<u32>,
    /// List so many of the longest queues.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(super) top: u16,
}

/// Arguments of `seed`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct SeedArgs {
    /// URLs; they need not be canonical.
    pub(super) urls: Vec<String>,
    /// File with further URLs, one a line; empty lines and lines that start with # are skipped.
    #[arg(long)]
    pub(super) file: Option<PathBuf>,
    /// The crawl.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) crawl: u32,
    /// Priority, 0 (first) to 255 (last).
    #[arg(long, default_value_t = 0)]
    pub(super) priority: u8,
    /// Make the crawl, with the default policy, where it is not there yet.
    #[arg(long)]
    pub(super) create: bool,
}

/// Arguments of `unblock`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct HostArgs {
    /// The host, canonical and without a port.
    #[arg(value_parser = host)]
    pub(super) host: HostName,
}

/// Arguments of `block`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct BlockArgs {
    /// The host, canonical and without a port.
    #[arg(value_parser = host)]
    pub(super) host: HostName,
    /// For so long, of the shard's own time; 366 days at most.
    #[arg(long = "for", value_name = "TIME", default_value = "366d", value_parser = duration::parse_positive)]
    pub(super) time: Duration,
}

/// Arguments of `delay`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct DelayArgs {
    /// The host, canonical and without a port.
    #[arg(value_parser = host)]
    pub(super) host: HostName,
    /// Milliseconds; 0: no delay of its own.
    #[arg(value_parser = clap::value_parser!(u64).range(..=POLICY_MS))]
    pub(super) delay_ms: u64,
}

/// Arguments of `pause` and `resume`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct PauseArgs {
    /// A host, the number of a crawl, or `all`. Pauses of hosts, of crawls and of all are kept apart.
    #[arg(value_name = "HOST|CRAWL|all", value_parser = paused)]
    pub(super) what: Paused,
}

/// Arguments of `remove`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct RemoveArgs {
    /// A URL, a host, or the number of a crawl.
    #[arg(value_name = "URL|HOST|CRAWL", value_parser = removed)]
    pub(super) what: Removed,
    /// The crawl of a URL or a host.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) crawl: u32,
    /// Forget that the URLs were seen, so that they may come again.
    #[arg(long)]
    pub(super) forget: bool,
    /// Do it: what is removed cannot be taken back.
    #[arg(long)]
    pub(super) yes: bool,
}

/// Arguments of `lost-store`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct LostStoreArgs {
    /// The store's id, as URL records and scrub name it: the node's number, plus 65 536 for each disk that the node lost before.
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) store: u32,
    /// Do it: the store's id is never used again, even if its disk comes back.
    #[arg(long)]
    pub(super) yes: bool,
}

/// Arguments of `duplicates`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct DuplicatesArgs {
    /// The crawl.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) crawl: u32,
    /// List so many payloads and so many pairs of hosts.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(super) top: u16,
    /// Hosts mirror each other when they share so many payloads at least, and most of the smaller one's.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) least: u64,
}

/// What is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ctl) enum Paused {
    All,
    Crawl(u32),
    Host(HostName),
}

/// What is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ctl) enum Removed {
    Url(CanonicalUrl),
    Host(HostName),
    Crawl(u32),
}

impl Removed {
    /// In words.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Url(url) => url.as_str().to_owned(),
            Self::Host(host) => host.as_str().to_owned(),
            Self::Crawl(crawl) => format!("crawl {crawl}"),
        }
    }
}

fn host(text: &str) -> Result<HostName, String> {
    HostName::parse(text).map_err(|error| format!("not a canonical host without a port: {error}"))
}

fn crawl(text: &str) -> Option<Result<u32, String>> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| match text.parse() {
        Ok(0) | Err(_) => Err("crawls are numbered from 1, in 32 bits".to_owned()),
        Ok(crawl) => Ok(crawl),
    })
}

fn paused(text: &str) -> Result<Paused, String> {
    match crawl(text) {
        Some(crawl) => crawl.map(Paused::Crawl),
        None if text == "all" => Ok(Paused::All),
        None => host(text).map(Paused::Host),
    }
}

fn removed(text: &str) -> Result<Removed, String> {
    if text.contains("://") {
        let url = Canonicalizer::default().canonicalize(text);
        return url.map(Removed::Url).map_err(|error| error.to_string());
    }
    match crawl(text) {
        Some(crawl) => crawl.map(Removed::Crawl),
        None => host(text).map(Removed::Host),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_crawls_and_names_are_hosts() {
        let name = |text| HostName::parse(text).unwrap();
        assert_eq!(paused("7"), Ok(Paused::Crawl(7)));
        assert_eq!(paused("all"), Ok(Paused::All));
        assert_eq!(paused("a.example"), Ok(Paused::Host(name("a.example"))));
        assert_eq!(removed("4294967295"), Ok(Removed::Crawl(u32::MAX)));
        assert_eq!(removed("127.0.0.1"), Ok(Removed::Host(name("127.0.0.1"))));
        for wrong in ["0", "4294967296", "", "A.example", "a.example:80", "a b"] {
            assert!(paused(wrong).is_err() && removed(wrong).is_err(), "{wrong}");
        }
        let url = removed("HTTP://A.example:80/x#y").unwrap();
        assert_eq!(url.shown(), "http://a.example/x");
        assert!(removed("ftp://a.example/").is_err());
    }
}
