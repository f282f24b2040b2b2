//! What the flags come to.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use urlkey::{SuffixList, SuffixListError};

use super::Flags;
use super::flags::read_bounded;
use crate::config::{ConfigError, FetcherConfig};
use crate::limits::{DEFAULT_COPIES, MAX_COPIES};
use crate::scope::{CrawlRules, Crawls, Scope};

/// The crawl that `--scope-free` speaks of.
const FREE_CRAWL: u32 = 1;

/// Settings that make no sense.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file cannot be read, or one of its keys is wrong.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No frontier to talk to.
    #[error("no frontier: give --frontier ADDRESS[,ADDRESS..]")]
    NoFrontier,
    /// Copies out of bounds.
    #[error("--copies is {0}: must be from 1 to {MAX_COPIES}")]
    Copies(usize),
    /// Metrics would be served to others.
    #[error(
        "{0} is not a loopback address and there is no authentication: --allow-non-loopback must be given for it"
    )]
    NotLoopback(SocketAddr),
    /// A setting of the fetcher is out of bounds.
    #[error(transparent)]
    Fetcher(#[from] ConfigError),
    /// The suffix list is none.
    #[error("suffix list: {0}")]
    SuffixList(#[from] SuffixListError),
}

/// Everything a fetcher process needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses of frontier processes.
    pub frontier: Vec<String>,
    /// Stores that each page goes to.
    pub copies: usize,
    /// Where metrics are served.
    pub http_listen: SocketAddr,
    /// The fetcher's own.
    pub fetcher: FetcherConfig,
    /// Which links are followed.
    pub crawls: Crawls,
}

impl Settings {
    /// Reads the file that the flags name, and checks everything.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn of(flags: Flags) -> Result<Self, SettingsError> {
        let flags = match flags.config.clone() {
            Some(path) => flags.over(Flags::read(&path)?),
            None => flags,
        };
        if flags.frontier.is_empty() {
            return Err(SettingsError::NoFrontier);
        }
        let copies = flags.copies.unwrap_or(DEFAULT_COPIES);
        if !(1..=MAX_COPIES).contains(&copies) {
            return Err(SettingsError::Copies(copies));
        }
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let http_listen = flags.http_listen.unwrap_or(any_port);
        if !http_listen.ip().is_loopback() && !flags.allow_non_loopback {
            return Err(SettingsError::NotLoopback(http_listen));
        }
        let fetcher = fetcher(&flags);
        fetcher.check()?;
        Ok(Self {
            frontier: flags.frontier.clone(),
            copies,
            http_listen,
            fetcher,
            crawls: crawls(&flags)?,
        })
    }
}

fn fetcher(flags: &Flags) -> FetcherConfig {
    let mut config = FetcherConfig::default();
    let set = |field: &mut u64, value: Option<u64>| *field = value.unwrap_or(*field);
    set(&mut config.lease_ttl_ms, flags.lease_ttl_ms);
    set(&mut config.poll_wait_ms, flags.poll_wait_ms);
    set(&mut config.shutdown_ms, flags.shutdown_ms);
    set(&mut config.http.fetch_timeout_ms, flags.fetch_timeout_ms);
    config.open_fetches = flags.open_fetches.unwrap_or(config.open_fetches);
    if let Some(product) = &flags.product {
        config.http.product.clone_from(product);
    }
    if let Some(contact) = &flags.contact {
        config.http.contact.clone_from(contact);
    }
    config.http.allow_net.clone_from(&flags.allow_net);
    config.http.resolve.clone_from(&flags.resolve);
    config
}

fn crawls(flags: &Flags) -> Result<Crawls, SettingsError> {
    let suffixes = match &flags.suffix_list {
        Some(path) => Arc::new(SuffixList::parse(&read_bounded(path)?)?),
        None => SuffixList::shipped(),
    };
    let rules = |scope| CrawlRules {
        scope,
        ..CrawlRules::default()
    };
    let mut crawls = Crawls::any(suffixes);
    crawls.default = rules(Scope::OwnHost);
    if flags.scope_free {
        crawls.rules.insert(FREE_CRAWL, rules(Scope::Any));
    }
    Ok(crawls)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser;

    fn of(line: &str) -> Result<Settings, SettingsError> {
        let words = std::iter::once("fetcher").chain(line.split_whitespace());
        Settings::of(Flags::try_parse_from(words).unwrap())
    }

    #[test]
    fn flags_reach_the_fetcher_and_defaults_stay() {
        let settings =
            of("--frontier a:1 --fetch-timeout-ms 5000 --poll-wait-ms 7 --contact me").unwrap();
        assert_eq!(
            (
                settings.fetcher.http.fetch_timeout_ms,
                settings.fetcher.poll_wait_ms
            ),
            (5_000, 7)
        );
        assert_eq!(
            settings.fetcher.open_fetches,
            FetcherConfig::default().open_fetches
        );
        assert_eq!(settings.fetcher.http.user_agent(), "Escapement/0.1 (+me)");
        assert_eq!(settings.copies, DEFAULT_COPIES);
        assert!(settings.http_listen.ip().is_loopback());
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let words = |line: &str| of(line).unwrap_err().to_string();
        assert!(words("").contains("--frontier"));
        assert!(words("--frontier a:1 --copies 0").contains("--copies is 0"));
        assert!(words("--frontier a:1 --lease-ttl-ms 6000").contains("lease_ttl_ms"));
        assert!(words("--frontier a:1 --suffix-list /nowhere/list").contains("/nowhere/list"));
        // Nothing binds beyond loopback without an explicit flag.
        assert!(words("--frontier a:1 --http-listen 0.0.0.0:0").contains("--allow-non-loopback"));
        assert!(of("--frontier a:1 --http-listen 0.0.0.0:0 --allow-non-loopback").is_ok());
    }

    #[test]
    fn links_stay_on_their_host_unless_crawl_1_is_free() {
        let url = |text: &str| urlkey::CanonicalUrl::verify(text, 2_048).unwrap();
        let (page, own, other) = (
            url("http://a.example/"),
            url("http://a.example/x"),
            url("http://b.example/"),
        );
        let closed = of("--frontier a:1").unwrap().crawls;
        assert!(closed.follows(1, &page, &own) && !closed.follows(1, &page, &other));
        let free = of("--frontier a:1 --scope-free").unwrap().crawls;
        assert!(free.follows(1, &page, &other) && !free.follows(2, &page, &other));
    }
}
