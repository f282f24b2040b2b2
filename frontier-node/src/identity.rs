//! The node's descriptor: what the cluster and this directory agreed on when they were made.
//!
//! One small file, written once, before any group exists: identity, fingerprint secret, ranges of the shards. What a
//! later start asks for must be the same, else it is refused: with another suffix list or canonicaliser every URL would
//! have another owner or another name.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use urlkey::{CANONICALIZER_VERSION, FingerprintKey, SuffixList};

use crate::limits::SHARDS;

const FILE_NAME: &str = "node.toml";
const VERSION: u32 = 1;

/// Why a directory is not this node's, or its descriptor was not written.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file could not be read or written.
    #[error("{path}: {reason}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The file is not a descriptor.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Something of the identity differs.
    #[error("{what} differs: the directory has {stored}, this start has {given}")]
    Mismatch {
        /// What differs.
        what: &'static str,
        /// In the directory.
        stored: String,
        /// Asked for.
        given: String,
    },
    /// The number of shards is out of bounds.
    #[error("shards is {0}, not from 1 to {SHARDS}")]
    ShardCount(u64),
}

/// A shard's range of the partition hash, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardRange {
    /// The shard, from 1; 0 is the cluster's own group.
    pub shard: u64,
    /// First hash.
    pub first: u64,
    /// Last hash.
    pub last: u64,
}

/// What a directory was made with.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// The secret of the fingerprints.
    pub key: FingerprintKey,
    /// The shards, by first hash.
    pub shards: Vec<ShardRange>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    node_id: u64,
    canonicalizer_version: u32,
    /// Sixteen hex digits each, for TOML has no unsigned 64-bit numbers.
    suffix_list_digest: String,
    fingerprint_secret: String,
    shards: Vec<StoredRange>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRange {
    shard: u64,
    first: String,
    last: String,
}

impl Descriptor {
    /// Reads the directory's descriptor and checks it, or makes and writes one. Blocking.
    ///
    /// `key`: the cluster's secret where it is known; else a new directory draws one from the system's generator.
    ///
    /// # Errors
    ///
    /// See [`IdentityError`].
    pub fn open(
        dir: &Path,
        node_id: u64,
        suffixes: &SuffixList,
        shards: u64,
        key: Option<FingerprintKey>,
    ) -> Result<Self, IdentityError> {
        if !(1..=SHARDS).contains(&shards) {
            return Err(IdentityError::ShardCount(shards));
        }
        let path = dir.join(FILE_NAME);
        match std::fs::read_to_string(&path) {
            Ok(text) => check(&path, &text, node_id, suffixes, shards, key),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if let Some(rows) = ["log", "state"]
                    .map(|part| dir.join(part))
                    .into_iter()
                    .find(|part| part.exists())
                {
                    // A new secret would give every URL another name, and all of them would be fetched again.
                    return Err(IdentityError::Damaged {
                        path,
                        reason: format!("it is missing, but {} is there", rows.display()),
                    });
                }
                let key = key.map_or_else(draw_key, Ok)?;
                let made = Self {
                    key,
                    shards: equal_ranges(shards),
                };
                write(dir, &path, &made.stored(node_id, suffixes))?;
                Ok(made)
            }
            Err(error) => Err(io_error(&path, &error)),
        }
    }

    fn stored(&self, node_id: u64, suffixes: &SuffixList) -> Stored {
        let range = |r: &ShardRange| StoredRange {
            shard: r.shard,
            first: hex(r.first),
            last: hex(r.last),
        };
        Stored {
            version: VERSION,
            node_id,
            canonicalizer_version: CANONICALIZER_VERSION,
            suffix_list_digest: hex(suffixes.digest()),
            fingerprint_secret: format!("{:032x}", u128::from_be_bytes(self.key.to_bytes())),
            shards: self.shards.iter().map(range).collect(),
        }
    }
}

/// `count` ranges of equal size that cover the whole hash space.
pub fn equal_ranges(count: u64) -> Vec<ShardRange> {
    let bound = |index: u64| {
        u64::try_from((u128::from(index) << 64) / u128::from(count.max(1))).unwrap_or(u64::MAX)
    };
    (0..count)
        .map(|index| {
            let last = if index + 1 == count {
                u64::MAX
            } else {
                bound(index + 1) - 1
            };
            ShardRange {
                shard: index + 1,
                first: bound(index),
                last,
            }
        })
        .collect()
}

fn check(
    path: &Path,
    text: &str,
    node_id: u64,
    suffixes: &SuffixList,
    shards: u64,
    key: Option<FingerprintKey>,
) -> Result<Descriptor, IdentityError> {
    let damaged = |reason: String| IdentityError::Damaged {
        path: path.to_owned(),
        reason,
    };
    let stored: Stored =
        toml::from_str(text).map_err(|error| damaged(error.message().to_owned()))?;
    let same = |what, stored: String, given: String| {
        if stored == given {
            Ok(())
        } else {
            Err(IdentityError::Mismatch {
                what,
                stored,
                given,
            })
        }
    };
    same(
        "the layout version",
        stored.version.to_string(),
        VERSION.to_string(),
    )?;
    same(
        "the node id",
        stored.node_id.to_string(),
        node_id.to_string(),
    )?;
    let canonicalizer = stored.canonicalizer_version.to_string();
    same(
        "the canonicaliser version",
        canonicalizer,
        CANONICALIZER_VERSION.to_string(),
    )?;
    same(
        "the suffix list digest",
        stored.suffix_list_digest,
        hex(suffixes.digest()),
    )?;
    same(
        "the number of shards",
        stored.shards.len().to_string(),
        shards.to_string(),
    )?;
    let secret = u128::from_str_radix(&stored.fingerprint_secret, 16)
        .map_err(|error| damaged(format!("fingerprint_secret: {error}")))?;
    let stored_key = FingerprintKey::from_bytes(secret.to_be_bytes());
    if key.is_some_and(|given| given != stored_key) {
        // Neither secret is shown.
        let (stored, given) = ("one secret".to_owned(), "another".to_owned());
        return Err(IdentityError::Mismatch {
            what: "the fingerprint secret",
            stored,
            given,
        });
    }
    let parse = |text: &str| {
        u64::from_str_radix(text, 16).map_err(|error| damaged(format!("shards: {error}")))
    };
    let ranges: Vec<ShardRange> = stored
        .shards
        .iter()
        .map(|r| {
            Ok(ShardRange {
                shard: r.shard,
                first: parse(&r.first)?,
                last: parse(&r.last)?,
            })
        })
        .collect::<Result<_, IdentityError>>()?;
    if ranges.iter().any(|r| r.shard == 0 || r.last < r.first)
        || ranges.windows(2).any(|w| w[0].last >= w[1].first)
    {
        return Err(damaged("the ranges of the shards make no sense".to_owned()));
    }
    Ok(Descriptor {
        key: stored_key,
        shards: ranges,
    })
}

fn hex(value: u64) -> String {
    format!("{value:016x}")
}

fn io_error(path: &Path, error: &std::io::Error) -> IdentityError {
    IdentityError::Io {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

fn draw_key() -> Result<FingerprintKey, IdentityError> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| io_error(path, &error))?;
    Ok(FingerprintKey::from_bytes(bytes))
}

/// Whole or not at all: a temporary file, its fsync, its rename, the directory's fsync. Readable by its owner only.
fn write(dir: &Path, path: &Path, stored: &Stored) -> Result<(), IdentityError> {
    let text = toml::to_string(stored).map_err(|error| IdentityError::Damaged {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    let temporary = path.with_extension("tmp");
    let write_all = || {
        std::fs::create_dir_all(dir)?;
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        File::open(dir)?.sync_all()
    };
    write_all().map_err(|error: std::io::Error| io_error(path, &error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_the_space_without_gap_or_overlap() {
        for count in [1, 2, 3, 7, 16, 1_000] {
            let ranges = equal_ranges(count);
            assert_eq!(ranges.len() as u64, count);
            assert_eq!(
                (ranges[0].first, ranges[ranges.len() - 1].last),
                (0, u64::MAX)
            );
            assert!(
                ranges.windows(2).all(
                    |w| w[0].last.wrapping_add(1) == w[1].first && w[0].shard + 1 == w[1].shard
                )
            );
        }
    }

    #[test]
    fn a_directory_keeps_what_it_was_made_with() {
        let dir = tempfile::tempdir().unwrap();
        let suffixes = SuffixList::shipped();
        let made = Descriptor::open(dir.path(), 1, &suffixes, 3, None).unwrap();
        let again = Descriptor::open(dir.path(), 1, &suffixes, 3, None).unwrap();
        assert_eq!(made.key.to_bytes(), again.key.to_bytes());
        assert_eq!(made.shards, again.shards);
        assert_ne!(made.key, FingerprintKey::ZERO);
        let other =
            Descriptor::open(tempfile::tempdir().unwrap().path(), 1, &suffixes, 3, None).unwrap();
        assert_ne!(made.key.to_bytes(), other.key.to_bytes());
    }

    #[test]
    fn every_mismatch_is_refused_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let suffixes = SuffixList::shipped();
        Descriptor::open(dir.path(), 1, &suffixes, 3, None).unwrap();
        let words = |node, list: &SuffixList, shards, key| {
            Descriptor::open(dir.path(), node, list, shards, key)
                .unwrap_err()
                .to_string()
        };
        assert!(
            words(1, &suffixes, 4, None)
                .contains("number of shards differs: the directory has 3, this start has 4")
        );
        assert!(words(2, &suffixes, 3, None).contains("node id"));
        assert!(
            words(1, &SuffixList::parse("com\n").unwrap(), 3, None).contains("suffix list digest")
        );
        assert!(words(1, &suffixes, 3, Some(FingerprintKey::ZERO)).contains("fingerprint secret"));
        assert!(words(1, &suffixes, 0, None).contains("shards is 0"));
        std::fs::write(dir.path().join(FILE_NAME), "version = 1\nnonsense = 2\n").unwrap();
        assert!(words(1, &suffixes, 3, None).contains("nonsense"));
    }
}
