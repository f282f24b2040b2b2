//! The node's configuration file: TOML, every key known or refused by name.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use urlkey::SuffixList;

use crate::limits::CONFIG_SIZE_BYTES;
use crate::options::NodeOptions;

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file could not be read.
    #[error("{path}: {reason}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A key is unknown, missing or has the wrong kind of value; the text names it and its line.
    #[error("configuration: {0}")]
    Key(String),
    /// The suffix list is not one.
    #[error("suffix_list: {0}")]
    SuffixList(#[from] urlkey::SuffixListError),
}

/// The file's keys.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The node's directory.
    pub dir: PathBuf,
    /// This node's id.
    #[serde(default = "one")]
    pub node_id: u64,
    /// Number of shards.
    #[serde(default = "one")]
    pub shards: u64,
    /// URLs to remember.
    #[serde(default = "ten_million")]
    pub expected_urls: u64,
    /// Where gRPC listens.
    #[serde(default = "grpc_address")]
    pub listen: SocketAddr,
    /// Where metrics and the status page are.
    #[serde(default = "http_address")]
    pub http_listen: SocketAddr,
    /// Take addresses beyond loopback: there is no authentication yet.
    #[serde(default)]
    pub allow_non_loopback: bool,
    /// A suffix list to use instead of the shipped one.
    #[serde(default)]
    pub suffix_list: Option<PathBuf>,
    /// Block cache of the state database, bytes.
    #[serde(default)]
    pub block_cache_size_bytes: Option<usize>,
    /// Space to keep free on the device, bytes.
    #[serde(default)]
    pub min_free_bytes: Option<u64>,
}

const fn one() -> u64 {
    1
}

const fn ten_million() -> u64 {
    10_000_000
}

fn grpc_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_700))
}

fn http_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_780))
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a key is wrong.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let error = |reason: String| ConfigError::Read {
            path: path.to_owned(),
            reason,
        };
        let size_bytes = std::fs::metadata(path)
            .map_err(|e| error(e.to_string()))?
            .len();
        if size_bytes > CONFIG_SIZE_BYTES {
            return Err(error(format!(
                "{size_bytes} bytes, more than {CONFIG_SIZE_BYTES}"
            )));
        }
        Self::parse(&std::fs::read_to_string(path).map_err(|e| error(e.to_string()))?)
    }

    /// Reads a text.
    ///
    /// # Errors
    ///
    /// A key is wrong.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::Key(error.to_string()))
    }

    /// The options of the node it describes. Reads the suffix list.
    ///
    /// # Errors
    ///
    /// The suffix list cannot be read or is not one.
    pub fn options(&self) -> Result<NodeOptions, ConfigError> {
        let mut options = NodeOptions::new(self.dir.clone(), self.shards);
        options.node_id = self.node_id;
        options.expected_urls = self.expected_urls;
        if let Some(path) = &self.suffix_list {
            let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Read {
                path: path.clone(),
                reason: error.to_string(),
            })?;
            options.suffixes = Arc::new(SuffixList::parse(&text)?);
        }
        if let Some(size_bytes) = self.block_cache_size_bytes {
            options.engine.block_cache_size_bytes = size_bytes;
        }
        if let Some(min_free_bytes) = self.min_free_bytes {
            options.engine.min_free_bytes = min_free_bytes;
        }
        Ok(options)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_key_is_named() {
        let words = |text: &str| Config::parse(text).unwrap_err().to_string();
        assert!(words("dir = \"x\"\nshard = 3\n").contains("shard"));
        assert!(words("dir = \"x\"\nshards = \"three\"\n").contains("shards"));
        assert!(words("shards = 3\n").contains("dir"));
        assert!(words("dir = \"x\"\nlisten = \"nowhere\"\n").contains("listen"));
    }

    #[test]
    fn defaults_are_loopback() {
        let config = Config::parse("dir = \"x\"\nshards = 4\nmin_free_bytes = 5\n").unwrap();
        assert!(config.listen.ip().is_loopback() && config.http_listen.ip().is_loopback());
        let options = config.options().unwrap();
        assert_eq!((options.shards, options.engine.min_free_bytes), (4, 5));
        let missing = Config {
            suffix_list: Some("/nowhere/list".into()),
            ..config
        };
        assert!(
            missing
                .options()
                .err()
                .unwrap()
                .to_string()
                .contains("/nowhere/list")
        );
    }
}
