//! The descriptor as a file.

use std::path::Path;

use serde::{Deserialize, Serialize};
use urlkey::FingerprintKey;

use super::{Descriptor, IdentityError, ShardRange, hex, io_error, same};
use crate::durable_file;

pub(super) const FILE_NAME: &str = "node.toml";
const VERSION: u32 = 2;
/// The secret stands in it.
const OWNER_ONLY: u32 = 0o600;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    version: u32,
    node_id: u64,
    cluster_id: String,
    canonicalizer_version: u32,
    suffix_list_digest: String,
    fingerprint_secret: String,
    founders: Vec<u32>,
    admitted: bool,
    /// Absent in what earlier programs wrote.
    #[serde(default)]
    opened: bool,
    /// Absent where every founder has every group.
    #[serde(default, skip_serializing_if = "is_zero")]
    replicas: u32,
    /// Absent where the directory was not made by joining.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    disk: String,
    shards: Vec<StoredRange>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRange {
    shard: u64,
    first: String,
    last: String,
}

// The shape that serde asks for.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Stored {
    pub(super) fn of(descriptor: &Descriptor) -> Self {
        let range = |r: &ShardRange| StoredRange {
            shard: r.shard,
            first: hex(r.first),
            last: hex(r.last),
        };
        Self {
            version: VERSION,
            node_id: descriptor.replica,
            cluster_id: hex(descriptor.cluster_id),
            canonicalizer_version: descriptor.canonicalizer_version,
            suffix_list_digest: hex(descriptor.suffix_list_digest),
            fingerprint_secret: format!("{:032x}", u128::from_be_bytes(descriptor.key.to_bytes())),
            founders: descriptor.founders.clone(),
            admitted: descriptor.admitted,
            opened: descriptor.opened,
            replicas: descriptor.replicas,
            disk: if descriptor.disk == 0 {
                String::new()
            } else {
                hex(descriptor.disk)
            },
            shards: descriptor.shards.iter().map(range).collect(),
        }
    }

    /// `None`: there is no file.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>, IdentityError> {
        let path = dir.join(FILE_NAME);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(&path, &error)),
        };
        let stored: Self = toml::from_str(&text).map_err(|error| IdentityError::Damaged {
            path,
            reason: error.message().to_owned(),
        })?;
        same("the layout version", &stored.version, &VERSION)?;
        Ok(Some(stored))
    }

    pub(super) fn into_descriptor(self, path: &Path) -> Result<Descriptor, IdentityError> {
        let damaged = |reason: String| IdentityError::Damaged {
            path: path.to_owned(),
            reason,
        };
        let number = |name: &str, text: &str| {
            u64::from_str_radix(text, 16).map_err(|error| damaged(format!("{name}: {error}")))
        };
        let secret = u128::from_str_radix(&self.fingerprint_secret, 16)
            .map_err(|error| damaged(format!("fingerprint_secret: {error}")))?;
        let shards: Vec<ShardRange> = self
            .shards
            .iter()
            .map(|r| {
                Ok(ShardRange {
                    shard: r.shard,
                    first: number("shards", &r.first)?,
                    last: number("shards", &r.last)?,
                })
            })
            .collect::<Result<_, IdentityError>>()?;
        if shards.iter().any(|r| r.shard == 0 || r.last < r.first)
            || shards.windows(2).any(|w| w[0].last >= w[1].first)
        {
            return Err(damaged("the ranges of the shards make no sense".to_owned()));
        }
        Ok(Descriptor {
            replica: self.node_id,
            cluster_id: number("cluster_id", &self.cluster_id)?,
            key: FingerprintKey::from_bytes(secret.to_be_bytes()),
            founders: self.founders,
            shards,
            replicas: self.replicas,
            disk: if self.disk.is_empty() {
                0
            } else {
                number("disk", &self.disk)?
            },
            suffix_list_digest: number("suffix_list_digest", &self.suffix_list_digest)?,
            canonicalizer_version: self.canonicalizer_version,
            admitted: self.admitted,
            opened: self.opened,
        })
    }

    /// Whole or not at all. Readable by its owner only.
    pub(super) fn write(&self, dir: &Path) -> Result<(), IdentityError> {
        let path = dir.join(FILE_NAME);
        let text = toml::to_string(self).map_err(|error| IdentityError::Damaged {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        durable_file::replace(dir, FILE_NAME, &text, OWNER_ONLY)
            .map_err(|error| io_error(&path, &error))
    }
}
