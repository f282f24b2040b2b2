//! Flags, environment and configuration file. A flag wins over the environment, that over the file.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Parser;
use serde::Deserialize;

use shard_map::limits::REPLICAS;

use crate::limits::{CONFIG_SIZE_BYTES, NODE_NUMBER};

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

    /// Who joins a cluster founds none.
    fn check_join(&self) -> Result<(), SettingsError> {
        if self.join.is_empty() {
            return Ok(());
        }
        if !self.peers.is_empty() {
            return Err(wrong(
                "join",
                "a node that joins a cluster founds none: leave out --peer, and say with --address where others reach it",
            ));
        }
        match self.join.iter().find(|address| !is_address(address)) {
            Some(address) => Err(wrong("join", format!("{address:?} is not HOST:PORT"))),
            None => Ok(()),
        }
    }

    /// Others are told this address, so it must lead to this machine and not to whichever asks.
    fn check_own(&self) -> Result<(), SettingsError> {
        if let Some(address) = self.address.as_ref().filter(|address| !is_address(address)) {
            return Err(wrong("address", format!("{address:?} is not HOST:PORT")));
        }
        let of_peers = self.own_peer()?.filter(|told| !told.ends_with(":0"));
        if let (Some(told), Some(peer)) = (&self.address, of_peers)
            && *told != peer
        {
            return Err(wrong(
                "address",
                format!("{told} is not this node's own peer entry, {peer}"),
            ));
        }
        if !self.allow_non_loopback && !self.listen().ip().is_loopback() {
            // The listener is refused, by a better name.
            return Ok(());
        }
        let told = self.own_address()?.unwrap_or_default();
        let host = match told.rsplit_once(':') {
            // The port is the listener's, and so is the host.
            Some((_, "0")) | None => self.listen().ip().to_string(),
            Some((host, _)) => host.trim_matches(['[', ']']).to_owned(),
        };
        if host.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified()) {
            return Err(wrong(
                "address",
                format!(
                    "{host} is no address that others reach: name this node with --address HOST:PORT, or in a cluster that is founded with --peer {}=HOST:PORT",
                    self.number()
                ),
            ));
        }
        Ok(())
    }

    /// Others reach this node where it tells them; if that is the place of another process, this one speaks in its name.
    fn check_port(&self) -> Result<(), SettingsError> {
        let listen = self.listen().port();
        let Some(address) = self.own_address()? else {
            return Ok(());
        };
        let told = address.rsplit_once(':').map_or("", |(_, port)| port);
        if listen == 0 || told == "0" || told == listen.to_string() {
            return Ok(());
        }
        let what = if self.address.is_some() {
            format!("that which others are told, {address}")
        } else {
            let node = self.number();
            format!("that of this node's own peer entry, {node}={address}")
        };
        Err(wrong("listen", format!("port {listen} is not {what}")))
    }

    /// This node among those that found a cluster.
    fn own_peer(&self) -> Result<Option<String>, SettingsError> {
        let mut founders = self.founders()?.into_iter();
        let own = founders.find(|(number, _)| *number == self.number());
        Ok(own.filter(|_| !self.peers.is_empty()).map(|(_, a)| a))
    }

    /// Where others reach this node, as far as settings say; its port may be 0.
    ///
    /// # Errors
    ///
    /// As for [`Self::founders`].
    pub fn own_address(&self) -> Result<Option<String>, SettingsError> {
        match &self.address {
            Some(address) => Ok(Some(address.clone())),
            None => self.own_peer(),
        }
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

    /// The founding nodes, ascending; a cluster of one if none are named.
    ///
    /// # Errors
    ///
    /// One is malformed or named twice.
    pub fn founders(&self) -> Result<Vec<(u32, String)>, SettingsError> {
        if self.peers.is_empty() {
            return Ok(vec![(self.number(), self.listen().to_string())]);
        }
        let mut founders = Vec::with_capacity(self.peers.len());
        for text in &self.peers {
            let parsed = text.split_once('=').and_then(|(number, address)| {
                let number: u32 = number.trim().parse().ok()?;
                (is_address(address) && (1..=NODE_NUMBER).contains(&u64::from(number)))
                    .then(|| (number, address.trim().to_owned()))
            });
            founders.push(
                parsed.ok_or_else(|| wrong("peer", format!("{text:?} is not NUMBER=HOST:PORT")))?,
            );
        }
        founders.sort();
        if let Some(twice) = founders.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(wrong("peer", format!("node {} is named twice", twice[0].0)));
        }
        Ok(founders)
    }
}

fn is_address(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(host, port)| !host.trim().is_empty() && port.parse::<u16>().is_ok())
}

fn wrong(name: &'static str, reason: impl Into<String>) -> SettingsError {
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
