//! The node's descriptor: what the cluster and this directory agreed on when they were made.
//!
//! One small file, written before any group exists: identity, fingerprint secret, ranges of the shards. What a later
//! start asks for must be the same, else it is refused: with another suffix list or canonicaliser every URL would have
//! another owner or another name.

mod file;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use raftlog::NodeId;
use urlkey::{CANONICALIZER_VERSION, FingerprintKey, SuffixList};

use crate::cluster::node_number;
use crate::limits::SHARDS;
use file::{FILE_NAME, Stored};

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
    /// The replica that the directory belongs to.
    pub replica: NodeId,
    /// Random, drawn when the cluster was founded.
    pub cluster_id: u64,
    /// The secret of the fingerprints.
    pub key: FingerprintKey,
    /// The nodes that founded the cluster.
    pub founders: Vec<u32>,
    /// The shards, by first hash.
    pub shards: Vec<ShardRange>,
    /// Digest of the suffix list.
    pub suffix_list_digest: u64,
    /// The version of the canonicaliser.
    pub canonicalizer_version: u32,
    /// Enough others have this incarnation on disk: its groups may be opened.
    pub admitted: bool,
}

impl Descriptor {
    /// A new cluster's, with a secret and an id from the system's generator.
    ///
    /// # Errors
    ///
    /// Too many shards, or no random bytes.
    pub fn found(
        replica: NodeId,
        founders: Vec<u32>,
        shards: u64,
        suffixes: &SuffixList,
        key: Option<FingerprintKey>,
    ) -> Result<Self, IdentityError> {
        if !(1..=SHARDS).contains(&shards) {
            return Err(IdentityError::ShardCount(shards));
        }
        let drawn: [u8; 24] = draw()?;
        let (secret, id) = drawn.split_at(16);
        let mut secret_bytes = [0; 16];
        secret_bytes.copy_from_slice(secret);
        let cluster_id = id.iter().fold(0, |id, byte| (id << 8) | u64::from(*byte));
        Ok(Self {
            replica,
            // 0 stands for "no cluster yet".
            cluster_id: cluster_id.max(1),
            key: key.unwrap_or_else(|| FingerprintKey::from_bytes(secret_bytes)),
            admitted: founders.len() < 2,
            founders,
            shards: equal_ranges(shards),
            suffix_list_digest: suffixes.digest(),
            canonicalizer_version: CANONICALIZER_VERSION,
        })
    }

    /// Reads a directory's descriptor; `None` if it has none yet. Blocking.
    ///
    /// # Errors
    ///
    /// It is damaged, or missing where the databases are there.
    pub fn read(dir: &Path) -> Result<Option<Self>, IdentityError> {
        if let Some(stored) = Stored::read(dir)? {
            return stored.into_descriptor(&dir.join(FILE_NAME)).map(Some);
        }
        let mut databases = ["log", "state"].map(|part| dir.join(part)).into_iter();
        match databases.find(|part| part.exists()) {
            // A new secret would give every URL another name, and all of them would be fetched again.
            Some(rows) => Err(IdentityError::Damaged {
                path: dir.join(FILE_NAME),
                reason: format!("it is missing, but {} is there", rows.display()),
            }),
            None => Ok(None),
        }
    }

    /// Writes it, whole or not at all. Blocking.
    ///
    /// # Errors
    ///
    /// The disk refuses.
    pub fn write(&self, dir: &Path) -> Result<(), IdentityError> {
        Stored::of(self).write(dir)
    }

    /// Reads the directory's descriptor and checks it, or makes and writes that of a cluster of one. Blocking.
    ///
    /// `key`: the cluster's secret where it is known; else a new directory draws one from the system's generator.
    ///
    /// # Errors
    ///
    /// See [`IdentityError`].
    pub fn open(
        dir: &Path,
        replica: NodeId,
        suffixes: &SuffixList,
        shards: u64,
        key: Option<FingerprintKey>,
    ) -> Result<Self, IdentityError> {
        if !(1..=SHARDS).contains(&shards) {
            return Err(IdentityError::ShardCount(shards));
        }
        if let Some(stored) = Self::read(dir)? {
            stored.check(replica, suffixes, shards, key)?;
            return Ok(stored);
        }
        let founders = vec![node_number(replica)];
        let made = Self::found(replica, founders, shards, suffixes, key)?;
        made.write(dir)?;
        Ok(made)
    }

    fn check(
        &self,
        replica: NodeId,
        suffixes: &SuffixList,
        shards: u64,
        key: Option<FingerprintKey>,
    ) -> Result<(), IdentityError> {
        same("the node id", &self.replica, &replica)?;
        self.check_identity(suffixes)?;
        same("the number of shards", &(self.shards.len() as u64), &shards)?;
        if key.is_some_and(|given| given != self.key) {
            // Neither secret is shown.
            return same("the fingerprint secret", &"one secret", &"another");
        }
        Ok(())
    }

    /// Checks that this program names and places URLs as the directory does.
    ///
    /// # Errors
    ///
    /// The suffix list or the canonicaliser differs.
    pub fn check_identity(&self, suffixes: &SuffixList) -> Result<(), IdentityError> {
        same(
            "the canonicaliser version",
            &self.canonicalizer_version,
            &CANONICALIZER_VERSION,
        )?;
        same(
            "the suffix list digest",
            &hex(self.suffix_list_digest),
            &hex(suffixes.digest()),
        )
    }
}

/// Refuses what differs, by its name.
fn same<T: PartialEq + std::fmt::Display>(
    what: &'static str,
    stored: &T,
    given: &T,
) -> Result<(), IdentityError> {
    if stored == given {
        return Ok(());
    }
    Err(IdentityError::Mismatch {
        what,
        stored: stored.to_string(),
        given: given.to_string(),
    })
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

/// Sixteen digits, for TOML has no unsigned 64-bit numbers.
fn hex(value: u64) -> String {
    format!("{value:016x}")
}

fn io_error(path: &Path, error: &std::io::Error) -> IdentityError {
    IdentityError::Io {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

fn draw<const N: usize>() -> Result<[u8; N], IdentityError> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; N];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| io_error(path, &error))?;
    Ok(bytes)
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
        std::fs::write(dir.path().join(FILE_NAME), "version = 2\nnonsense = 2\n").unwrap();
        assert!(words(1, &suffixes, 3, None).contains("nonsense"));
    }
}
