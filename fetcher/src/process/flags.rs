//! What may be set, by flag, by environment or as a key of a TOML file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use serde::Deserialize;

use super::SettingsError;
use crate::dns::Override;
use crate::limits::MAX_CONFIG_FILE_BYTES;

/// Leases URLs from a cluster of frontiers, fetches them, stores pages, reports.
///
/// Every flag but --config is also a key of that file, with _ for - (--lease-ttl-ms 60000 is lease_ttl_ms = 60000); a flag wins
/// over its variable, that over the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Parser, Deserialize)]
#[command(
    name = "fetcher",
    version,
    after_help = "ESCAPEMENT_LOG says what is logged to stderr, such as info or fetcher=debug,client=debug [default: warn]."
)]
#[serde(deny_unknown_fields, default)]
pub struct Flags {
    /// TOML file with any of the other settings.
    #[arg(long, value_name = "FILE", env = "ESCAPEMENT_FETCHER_CONFIG")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Frontier processes (host:port), separated by commas; one that answers is enough, the others are learnt.
    #[arg(
        long,
        value_name = "ADDRESSES",
        value_delimiter = ',',
        env = "ESCAPEMENT_FETCHER_FRONTIER"
    )]
    pub frontier: Vec<String>,
    /// Stores that each page goes to; with fewer stores nothing is leased (a cluster of one needs 1) [default: 2].
    #[arg(long, env = "ESCAPEMENT_FETCHER_COPIES")]
    pub copies: Option<usize>,
    /// Open fetches [default: 200].
    #[arg(long, env = "ESCAPEMENT_FETCHER_OPEN_FETCHES")]
    pub open_fetches: Option<usize>,
    /// How long a lease lasts; a whole fetch and its margin must fit [default: 120000].
    #[arg(long, value_name = "MS", env = "ESCAPEMENT_FETCHER_LEASE_TTL_MS")]
    pub lease_ttl_ms: Option<u64>,
    /// How long a lease call waits for work [default: 2000].
    #[arg(long, value_name = "MS", env = "ESCAPEMENT_FETCHER_POLL_WAIT_MS")]
    pub poll_wait_ms: Option<u64>,
    /// A whole fetch; not longer than the crawl's own [default: 30000].
    #[arg(long, value_name = "MS", env = "ESCAPEMENT_FETCHER_FETCH_TIMEOUT_MS")]
    pub fetch_timeout_ms: Option<u64>,
    /// How long a stop may take [default: 10000].
    #[arg(long, value_name = "MS", env = "ESCAPEMENT_FETCHER_SHUTDOWN_MS")]
    pub shutdown_ms: Option<u64>,
    /// Product of the User-Agent; its leading letters are what robots.txt files name [default: Escapement/0.1].
    #[arg(long, env = "ESCAPEMENT_FETCHER_PRODUCT")]
    pub product: Option<String>,
    /// Where the owner of a host can find you: an address or a mailbox, part of the User-Agent.
    #[arg(long, env = "ESCAPEMENT_FETCHER_CONTACT")]
    pub contact: Option<String>,
    /// Private or special address range that may be contacted (may be repeated).
    #[arg(
        long,
        value_name = "NET",
        value_delimiter = ',',
        env = "ESCAPEMENT_FETCHER_ALLOW_NET"
    )]
    pub allow_net: Vec<IpNet>,
    /// Connect hosts that match PATTERN (`*`, `*.suffix` or a name) to ADDR:PORT, whatever the URL's port (may be repeated).
    #[arg(
        long,
        value_name = "PATTERN=ADDR:PORT",
        value_delimiter = ',',
        env = "ESCAPEMENT_FETCHER_RESOLVE"
    )]
    pub resolve: Vec<Override>,
    /// Where metrics are served [default: 127.0.0.1:0, any free port].
    #[arg(long, value_name = "IP:PORT", env = "ESCAPEMENT_FETCHER_HTTP_LISTEN")]
    pub http_listen: Option<SocketAddr>,
    /// Serve metrics beyond loopback: there is no authentication.
    #[arg(long, env = "ESCAPEMENT_FETCHER_ALLOW_NON_LOOPBACK")]
    pub allow_non_loopback: bool,
    /// Crawl 1 follows links to any host; without this links are followed on the page's own host only.
    #[arg(long, env = "ESCAPEMENT_FETCHER_SCOPE_FREE")]
    pub scope_free: bool,
    /// The cluster's list of public suffixes, if it is not the one that this program ships.
    #[arg(long, value_name = "FILE", env = "ESCAPEMENT_FETCHER_SUFFIX_LIST")]
    pub suffix_list: Option<PathBuf>,
}

impl Flags {
    /// Reads a file's keys.
    ///
    /// # Errors
    ///
    /// It cannot be read, is too long, or has a key that is unknown or of the wrong kind.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = read_bounded(path)?;
        toml::from_str(&text).map_err(|error| SettingsError::File {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    /// These, and where nothing is set those of a file.
    #[must_use]
    pub fn over(self, file: Self) -> Self {
        fn first<T>(own: Vec<T>, other: Vec<T>) -> Vec<T> {
            if own.is_empty() { other } else { own }
        }
        Self {
            config: self.config,
            frontier: first(self.frontier, file.frontier),
            copies: self.copies.or(file.copies),
            open_fetches: self.open_fetches.or(file.open_fetches),
            lease_ttl_ms: self.lease_ttl_ms.or(file.lease_ttl_ms),
            poll_wait_ms: self.poll_wait_ms.or(file.poll_wait_ms),
            fetch_timeout_ms: self.fetch_timeout_ms.or(file.fetch_timeout_ms),
            shutdown_ms: self.shutdown_ms.or(file.shutdown_ms),
            product: self.product.or(file.product),
            contact: self.contact.or(file.contact),
            allow_net: first(self.allow_net, file.allow_net),
            resolve: first(self.resolve, file.resolve),
            http_listen: self.http_listen.or(file.http_listen),
            allow_non_loopback: self.allow_non_loopback || file.allow_non_loopback,
            scope_free: self.scope_free || file.scope_free,
            suffix_list: self.suffix_list.or(file.suffix_list),
        }
    }
}

/// A file of a bounded size as text.
pub(super) fn read_bounded(path: &Path) -> Result<String, SettingsError> {
    let error = |reason: String| SettingsError::File {
        path: path.to_owned(),
        reason,
    };
    let size_bytes = std::fs::metadata(path)
        .map_err(|e| error(e.to_string()))?
        .len();
    if size_bytes > MAX_CONFIG_FILE_BYTES {
        return Err(error(format!(
            "{size_bytes} bytes, more than {MAX_CONFIG_FILE_BYTES}"
        )));
    }
    std::fs::read_to_string(path).map_err(|e| error(e.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn the_flags_of_the_contract_are_taken() {
        let line = "fetcher --frontier 127.0.0.1:7701,127.0.0.1:7702 --frontier 127.0.0.1:7703 --copies 2 --open-fetches 50 \
            --lease-ttl-ms 40000 --poll-wait-ms 1000 --fetch-timeout-ms 5000 --product Test/1 --contact me --allow-net 127.0.0.0/8 \
            --resolve *=127.0.0.1:80 --resolve *.a.example=127.0.0.1:81 --http-listen 127.0.0.1:0 --allow-non-loopback \
            --scope-free";
        let flags = Flags::try_parse_from(line.split_whitespace()).unwrap();
        assert_eq!(flags.frontier.len(), 3);
        assert_eq!(
            (
                flags.copies,
                flags.open_fetches,
                flags.lease_ttl_ms,
                flags.poll_wait_ms
            ),
            (Some(2), Some(50), Some(40_000), Some(1_000))
        );
        assert_eq!((flags.allow_net.len(), flags.resolve.len()), (1, 2));
        assert!(flags.allow_non_loopback && flags.scope_free);
    }

    #[test]
    fn a_flag_wins_over_the_file_and_a_wrong_key_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fetcher.toml");
        std::fs::write(
            &path,
            "frontier = [\"a:1\"]\ncopies = 1\nopen_fetches = 9\nresolve = [\"*=127.0.0.1:80\"]\nscope_free = true\n",
        )
        .unwrap();
        let flags = Flags::try_parse_from(["fetcher", "--copies", "3"]).unwrap();
        let both = flags.over(Flags::read(&path).unwrap());
        assert_eq!(
            (both.copies, both.open_fetches, both.frontier.as_slice()),
            (Some(3), Some(9), ["a:1".to_owned()].as_slice())
        );
        assert!(both.scope_free && both.resolve.len() == 1);
        std::fs::write(&path, "copy = 1\n").unwrap();
        let error = Flags::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("copy") && error.contains("fetcher.toml"),
            "{error}"
        );
    }
}
