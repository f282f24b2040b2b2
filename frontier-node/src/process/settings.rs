//! Flags, environment and configuration file. A flag wins over the environment, that over the file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde::Deserialize;

use shard_map::limits::REPLICAS;

use crate::limits::{CONFIG_SIZE_BYTES, NODE_NUMBER};
use crate::map::ShapeRules;

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file could not be read.
    #[error("{path}: {reason}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A key is unknown or has the wrong kind of value; the text names it and its line.
    #[error("{path}: {reason}")]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A value is missing or out of bounds.
    #[error("{name}: {reason}")]
    Value {
        /// The setting.
        name: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// One node of an Escapement cluster: holds replicas of frontier shards, and pages.
///
/// Every flag but --config is also a key of that file, with _ for - (--http-listen is http_listen); --peer is
/// peers = ["1=HOST:PORT", ..]. A flag wins over its variable, that over the file.
#[derive(Clone, Debug, Default, Parser, Deserialize)]
#[command(
    name = "frontier-node",
    version,
    after_help = "ESCAPEMENT_LOG says what is logged to stderr, such as warn or frontier_node=debug [default: info,openraft=error]."
)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// A TOML file of settings.
    #[arg(long, value_name = "FILE", env = "ESCAPEMENT_CONFIG")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Number of this node, 1 to 65535 [default: that of the directory; else 1, or with --join the lowest free one].
    #[arg(long, value_name = "NUMBER", env = "ESCAPEMENT_NODE")]
    pub node: Option<u32>,
    /// The node's directory. An empty one founds a cluster, comes back to one, or joins one.
    #[arg(long, value_name = "DIR", env = "ESCAPEMENT_DIR")]
    pub dir: Option<PathBuf>,
    /// Where gRPC listens [default: 127.0.0.1:7700].
    #[arg(long, value_name = "IP:PORT", env = "ESCAPEMENT_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// Where metrics and the status page are [default: 127.0.0.1:7780].
    #[arg(long, value_name = "IP:PORT", env = "ESCAPEMENT_HTTP_LISTEN")]
    pub http_listen: Option<SocketAddr>,
    /// A founding node, as others reach it; once for each, this one included. None: a cluster of one.
    #[arg(
        long = "peer",
        value_name = "NUMBER=HOST:PORT",
        env = "ESCAPEMENT_PEERS",
        value_delimiter = ','
    )]
    #[serde(rename = "peers")]
    pub peers: Vec<String>,
    /// A node of a running cluster that an empty directory joins; any one that answers suffices. A later start needs none.
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "ESCAPEMENT_JOIN",
        value_delimiter = ','
    )]
    pub join: Vec<String>,
    /// Where others reach this node [default: its --peer, else where it listens].
    #[arg(long, value_name = "HOST:PORT", env = "ESCAPEMENT_ADDRESS")]
    pub address: Option<String>,
    /// Shards of a new cluster; the same on all nodes [default: 1].
    #[arg(long, env = "ESCAPEMENT_SHARDS")]
    pub shards: Option<u64>,
    /// Voters that each shard of a new cluster should have, 1 to 7; the same on all nodes [default: 3].
    #[arg(long, env = "ESCAPEMENT_REPLICAS")]
    pub replicas: Option<u32>,
    /// URLs that the node will remember: sizes its filter, 10 bits each [default: 10000000].
    #[arg(long, env = "ESCAPEMENT_EXPECTED_URLS")]
    pub expected_urls: Option<u64>,
    /// Keep no pages.
    #[arg(long, env = "ESCAPEMENT_NO_STORE")]
    pub no_store: bool,
    /// Listen beyond loopback: there is no authentication yet.
    #[arg(long, env = "ESCAPEMENT_ALLOW_NON_LOOPBACK")]
    pub allow_non_loopback: bool,
    /// A suffix list instead of the shipped one. The same on all nodes and fetchers.
    #[arg(long, value_name = "FILE", env = "ESCAPEMENT_SUFFIX_LIST")]
    pub suffix_list: Option<PathBuf>,
    /// A file with a backup's secret: a new cluster has it, and that backup can be restored into it. The same on all founders.
    #[arg(long, value_name = "FILE", env = "ESCAPEMENT_FINGERPRINT_SECRET")]
    pub fingerprint_secret: Option<PathBuf>,
    /// Block cache of the state database, bytes [default: 268435456].
    #[arg(long, value_name = "BYTES", env = "ESCAPEMENT_BLOCK_CACHE_SIZE_BYTES")]
    pub block_cache_size_bytes: Option<usize>,
    /// Space to keep free on the device, bytes [default: 134217728].
    #[arg(long, value_name = "BYTES", env = "ESCAPEMENT_MIN_FREE_BYTES")]
    pub min_free_bytes: Option<u64>,
    /// Replace a node that has been silent for so long: it is emptied and given up for good. 0: never [default: 0].
    #[arg(long, value_name = "SECONDS", env = "ESCAPEMENT_REPLACE_AFTER_S")]
    pub replace_after_s: Option<u64>,
    /// Split a shard whose rows take more than that on disk, bytes. 0: never for that [default: 0].
    #[arg(long, value_name = "BYTES", env = "ESCAPEMENT_SPLIT_ABOVE_SIZE_BYTES")]
    pub split_above_size_bytes: Option<u64>,
    /// Split a shard that applies more entries of its log than that in a second. 0: never for that [default: 0].
    #[arg(
        long,
        value_name = "ENTRIES",
        env = "ESCAPEMENT_SPLIT_ABOVE_ENTRIES_PER_S"
    )]
    pub split_above_entries_per_s: Option<u64>,
    /// For drills: the wall clock is wrong by so much, ms.
    #[arg(long, allow_negative_numbers = true, hide = true)]
    #[serde(skip)]
    pub test_wall_offset: Option<i64>,
    /// For drills: the monotonic clock runs fast by so many parts per million.
    #[arg(long, allow_negative_numbers = true, hide = true)]
    #[serde(skip)]
    pub test_clock_rate: Option<i64>,
    /// For drills: some seconds after the start the monotonic clock jumps ahead by so many ms, as if these had passed.
    #[arg(long, hide = true)]
    #[serde(skip)]
    pub test_clock_jump: Option<u64>,
}

impl Settings {
    /// Fills in what only the file says, and checks everything.
    ///
    /// # Errors
    ///
    /// See [`SettingsError`].
    pub fn complete(self) -> Result<Self, SettingsError> {
        let settings = match &self.config {
            Some(path) => {
                let file = read(path)?;
                self.or(file)
            }
            None => self,
        };
        settings.check()?;
        Ok(settings)
    }

    fn or(self, file: Self) -> Self {
        Self {
            config: self.config,
            node: self.node.or(file.node),
            dir: self.dir.or(file.dir),
            listen: self.listen.or(file.listen),
            http_listen: self.http_listen.or(file.http_listen),
            peers: if self.peers.is_empty() {
                file.peers
            } else {
                self.peers
            },
            join: if self.join.is_empty() {
                file.join
            } else {
                self.join
            },
            address: self.address.or(file.address),
            shards: self.shards.or(file.shards),
            replicas: self.replicas.or(file.replicas),
            expected_urls: self.expected_urls.or(file.expected_urls),
            no_store: self.no_store || file.no_store,
            allow_non_loopback: self.allow_non_loopback || file.allow_non_loopback,
            suffix_list: self.suffix_list.or(file.suffix_list),
            fingerprint_secret: self.fingerprint_secret.or(file.fingerprint_secret),
            block_cache_size_bytes: self.block_cache_size_bytes.or(file.block_cache_size_bytes),
            min_free_bytes: self.min_free_bytes.or(file.min_free_bytes),
            replace_after_s: self.replace_after_s.or(file.replace_after_s),
            split_above_size_bytes: self.split_above_size_bytes.or(file.split_above_size_bytes),
            split_above_entries_per_s: self
                .split_above_entries_per_s
                .or(file.split_above_entries_per_s),
            test_wall_offset: self.test_wall_offset,
            test_clock_rate: self.test_clock_rate,
            test_clock_jump: self.test_clock_jump,
        }
    }

    fn check(&self) -> Result<(), SettingsError> {
        if self.dir.is_none() {
            return Err(wrong("dir", "is missing"));
        }
        if let Some(node) = self.node
            && !(1..=NODE_NUMBER).contains(&u64::from(node))
        {
            return Err(wrong(
                "node",
                format!("{node} is not from 1 to {NODE_NUMBER}"),
            ));
        }
        if let Some(replicas) = self.replicas
            && !(1..=REPLICAS).contains(&replicas)
        {
            return Err(wrong(
                "replicas",
                format!("{replicas} is not from 1 to {REPLICAS}"),
            ));
        }
        self.check_join()?;
        let founders = self.founders()?;
        if !self.peers.is_empty() && !founders.iter().any(|(n, _)| *n == self.number()) {
            return Err(wrong(
                "peer",
                format!("node {} itself is not among them", self.number()),
            ));
        }
        self.check_own()?;
        self.check_port()?;
        if let Some(rate) = self.test_clock_rate
            && rate.abs() > 100_000
        {
            return Err(wrong(
                "test_clock_rate",
                "is beyond 100000 parts per million",
            ));
        }
        Ok(())
    }

    /// What this node does unasked while it leads group 0. The same on all nodes, or it depends on who leads.
    pub fn rules(&self) -> ShapeRules {
        let rules = ShapeRules {
            replace_after_ms: self.replace_after_s.unwrap_or(0).saturating_mul(1_000),
            ..ShapeRules::default()
        };
        rules.splitting_above(
            self.split_above_size_bytes.unwrap_or(0),
            self.split_above_entries_per_s.unwrap_or(0),
        )
    }

    /// This node's number where neither a directory nor a cluster gives it one.
    pub fn number(&self) -> u32 {
        self.node.unwrap_or(1)
    }

    /// Where gRPC listens.
    pub fn listen(&self) -> SocketAddr {
        self.listen
            .unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 7_700)))
    }

    /// Where metrics and the status page are.
    pub fn http_listen(&self) -> SocketAddr {
        self.http_listen
            .unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 7_780)))
    }
}

pub(super) fn wrong(name: &'static str, reason: impl Into<String>) -> SettingsError {
    SettingsError::Value {
        name,
        reason: reason.into(),
    }
}

fn read(path: &Path) -> Result<Settings, SettingsError> {
    let unread = |reason: String| SettingsError::Read {
        path: path.to_owned(),
        reason,
    };
    let size_bytes = std::fs::metadata(path)
        .map_err(|error| unread(error.to_string()))?
        .len();
    if size_bytes > CONFIG_SIZE_BYTES {
        return Err(unread(format!(
            "{size_bytes} bytes, more than {CONFIG_SIZE_BYTES}"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unread(error.to_string()))?;
    toml::from_str(&text).map_err(|error| SettingsError::Key {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(flags: &[&str]) -> Result<Settings, SettingsError> {
        let all = ["frontier-node"].iter().chain(flags);
        Settings::try_parse_from(all).unwrap().complete()
    }

    #[test]
    fn defaults_are_loopback_and_a_cluster_of_one() {
        let settings = parsed(&["--dir", "x"]).unwrap();
        assert!(settings.listen().ip().is_loopback() && settings.http_listen().ip().is_loopback());
        assert_eq!(
            settings.founders().unwrap(),
            [(1, "127.0.0.1:7700".to_owned())]
        );
        assert!(!settings.allow_non_loopback);
    }

    #[test]
    fn nothing_is_split_or_given_up_by_itself_unless_asked_for() {
        let rules = parsed(&["--dir", "x"]).unwrap().rules();
        assert_eq!(rules, ShapeRules::default());
        assert!(rules.replace_after_ms == 0 && !rules.split.enabled);
        let flags = ["--dir", "x", "--replace-after-s", "90"];
        let asked = [&flags[..], &["--split-above-entries-per-s", "50"]].concat();
        let rules = parsed(&asked).unwrap().rules();
        assert_eq!(rules.replace_after_ms, 90_000);
        assert!(rules.split.enabled && rules.split.size_bytes == 0);
        assert_eq!(rules.split.load, 50_000);
    }

    #[test]
    fn a_flag_wins_over_the_file_and_a_wrong_key_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node.toml");
        let file = path.to_str().unwrap().to_owned();
        std::fs::write(
            &path,
            "dir = \"from-file\"\nnode = 2\nshards = 4\nlisten = \"127.0.0.1:1\"\npeers = [\"2=h:1\", \"1=g:2\"]\n",
        )
        .unwrap();
        let settings = parsed(&["--config", &file, "--dir", "from-flag"]).unwrap();
        assert_eq!(settings.dir.as_deref(), Some(Path::new("from-flag")));
        assert_eq!((settings.number(), settings.shards), (2, Some(4)));
        assert_eq!(settings.founders().unwrap()[0], (1, "g:2".to_owned()));
        std::fs::write(&path, "dir = \"x\"\nshard = 4\n").unwrap();
        let error = parsed(&["--config", &file]).unwrap_err().to_string();
        assert!(
            error.contains("shard") && error.contains("node.toml"),
            "{error}"
        );
    }

    #[test]
    fn a_port_that_is_not_the_announced_one_is_refused() {
        let with = |listen: &str, own: &str| {
            let own = format!("2={own}");
            let flags = [
                "--dir", "x", "--node", "2", "--listen", listen, "--peer", &own,
            ];
            parsed(&flags).map_err(|error| error.to_string())
        };
        assert!(with("127.0.0.1:7702", "some.example:7702").is_ok());
        assert!(with("127.0.0.1:0", "some.example:7702").is_ok());
        assert!(with("127.0.0.1:7702", "some.example:0").is_ok());
        let words = with("127.0.0.1:7709", "some.example:7702").unwrap_err();
        assert!(
            words.contains("7709") && words.contains("2=some.example:7702"),
            "{words}"
        );
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        let words = |flags: &[&str]| parsed(flags).unwrap_err().to_string();
        assert!(words(&[]).contains("dir"));
        assert!(words(&["--dir", "x", "--node", "0"]).contains("node"));
        assert!(words(&["--dir", "x", "--peer", "7"]).contains("NUMBER=HOST:PORT"));
        assert!(words(&["--dir", "x", "--peer", "2=h:1"]).contains("itself"));
        assert!(words(&["--dir", "x", "--peer", "1=h:1", "--peer", "1=h:2"]).contains("twice"));
        assert!(words(&["--dir", "x", "--config", "/nowhere/file"]).contains("/nowhere/file"));
        assert!(words(&["--dir", "x", "--replicas", "8"]).contains("from 1 to 7"));
        assert!(words(&["--dir", "x", "--join", "h"]).contains("HOST:PORT"));
        assert!(words(&["--dir", "x", "--join", "h:1", "--peer", "1=g:1"]).contains("--address"));
        assert!(words(&["--dir", "x", "--address", "nowhere"]).contains("HOST:PORT"));
        let both = ["--dir", "x", "--peer", "1=g:7700", "--address", "h:7700"];
        assert!(words(&both).contains("peer entry, g:7700"));
        let port = ["--dir", "x", "--join", "g:1", "--address", "h:7709"];
        assert!(words(&port).contains("7709"));
    }

    #[test]
    fn a_node_that_joins_is_told_by_flags_or_file() {
        let settings = parsed(&["--dir", "x", "--join", "a:1,b:2"]).unwrap();
        assert_eq!(settings.join, ["a:1", "b:2"]);
        assert_eq!(
            (settings.node, settings.own_address().unwrap()),
            (None, None)
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node.toml");
        let text = "dir = \"x\"\njoin = [\"a:1\"]\naddress = \"h:7700\"\nreplicas = 5\n";
        std::fs::write(&path, text).unwrap();
        let settings = parsed(&["--config", path.to_str().unwrap()]).unwrap();
        assert_eq!((settings.join.len(), settings.replicas), (1, Some(5)));
        assert_eq!(settings.own_address().unwrap().as_deref(), Some("h:7700"));
    }

    #[test]
    fn an_address_that_nobody_reaches_is_not_told_to_others() {
        let all = ["--dir", "x", "--allow-non-loopback", "--listen"];
        let with = |more: &[&str]| parsed(&[&all[..], more].concat());
        for flags in [
            &["0.0.0.0:7700"][..],
            &["[::]:7700"],
            &["0.0.0.0:0", "--peer", "1=10.0.0.1:0"],
            &["0.0.0.0:7700", "--peer", "1=0.0.0.0:7700"],
            &["0.0.0.0:7700", "--peer", "1=[::]:7700"],
        ] {
            let why = with(flags).unwrap_err().to_string();
            assert!(
                why.contains("--peer 1=HOST:PORT") && why.contains("--address"),
                "{flags:?}: {why}"
            );
        }
        for flags in [
            &["0.0.0.0:7700", "--peer", "1=10.0.0.1:7700"][..],
            &["[::]:7700", "--peer", "1=node-1.example:7700"],
            &["10.0.0.1:7700"],
        ] {
            assert!(with(flags).is_ok(), "{flags:?}");
        }
    }
}
