//! The node's descriptor: what the cluster and this directory agreed on when they were made.
//!
//! One small file, written before any group exists: identity, fingerprint secret, ranges of the shards. What a later
//! start asks for must be the same, else it is refused: with another suffix list or canonicaliser every URL would have
//! another owner or another name.

mod file;
mod founding_voters;
mod secret;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use raftlog::NodeId;
use urlkey::{CANONICALIZER_VERSION, FingerprintKey, SuffixList};

use crate::cluster::node_number;
use crate::limits::SHARDS;
use file::{FILE_NAME, Stored};
pub(crate) use founding_voters::FoundingVoters;

pub use secret::read_secret;

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
    /// A database of a replica that took part is gone: a disk that is not mounted, or half a restore.
    #[error(
        "{dir} has lost its {}, and replica {replica} took part with it: put it back, or empty the whole directory, so that it comes back as a new replica",
        .parts.join(" and its ")
    )]
    Gone {
        /// The directory.
        dir: PathBuf,
        /// The replica that was there.
        replica: NodeId,
        /// What is missing.
        parts: Vec<&'static str>,
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
    /// The shards that it was founded with, by first hash.
    pub shards: Vec<ShardRange>,
    /// Voters that each group should have; 0: one on each founder, as all clusters once had.
    pub replicas: u32,
    /// Random, drawn when the directory was made by joining a cluster; 0: it is a founder's, or in a founder's place.
    pub disk: u64,
    /// Digest of the suffix list.
    pub suffix_list_digest: u64,
    /// The version of the canonicaliser.
    pub canonicalizer_version: u32,
    /// Enough others have this incarnation on disk: its groups may be opened.
    pub admitted: bool,
    /// Its groups may have been opened, so that it may have voted: what was there then may not be missing.
    pub opened: bool,
}

/// What a start asks of a directory that is a replica's already.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The node's number, if one was named.
    pub node: Option<u32>,
    /// The founding nodes, ascending; empty: none were named.
    pub founders: Vec<u32>,
    /// The number of shards, if one was named.
    pub shards: Option<u64>,
    /// Voters of each group, if a number was named.
    pub replicas: Option<u32>,
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
            opened: false,
            founders,
            shards: equal_ranges(shards),
            replicas: 0,
            disk: 0,
            suffix_list_digest: suffixes.digest(),
            canonicalizer_version: CANONICALIZER_VERSION,
        })
    }

    /// The same, of a cluster whose groups should have so many voters; 0: one on each founder.
    #[must_use]
    pub fn wanting(self, replicas: u32) -> Self {
        Self { replicas, ..self }
    }

    /// Whether there are more founders than a group should have voters, so that not every founder has every group.
    pub(crate) const fn is_placed(&self) -> bool {
        self.replicas > 0 && self.founders.len() > self.replicas as usize
    }

    /// Reads a directory's descriptor; `None` if it has none yet. Blocking.
    ///
    /// # Errors
    ///
    /// It is damaged, or missing where the databases are there, or they are missing where it says that they were there.
    pub fn read(dir: &Path) -> Result<Option<Self>, IdentityError> {
        if let Some(stored) = Stored::read(dir)? {
            let descriptor = stored.into_descriptor(&dir.join(FILE_NAME))?;
            descriptor.check_whole(dir)?;
            return Ok(Some(descriptor));
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

    /// Refuses a directory that was in use and has lost a database: opened anew it would vote again.
    fn check_whole(&self, dir: &Path) -> Result<(), IdentityError> {
        let is_gone = |part: &&str| !dir.join(part).join("CURRENT").exists();
        let parts: Vec<_> = ["log", "state"].into_iter().filter(is_gone).collect();
        if !self.opened || parts.is_empty() {
            return Ok(());
        }
        Err(IdentityError::Gone {
            dir: dir.to_owned(),
            replica: self.replica,
            parts,
        })
    }

    /// Writes down that its groups are about to be opened. Blocking.
    ///
    /// # Errors
    ///
    /// The disk refuses.
    pub fn mark_opened(&mut self, dir: &Path) -> Result<(), IdentityError> {
        if self.opened {
            return Ok(());
        }
        self.opened = true;
        self.write(dir)
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
        let asked = Asked {
            shards: Some(shards),
            ..Asked::default()
        };
        self.check_identity(suffixes, &asked)?;
        self.check_secret(key)
    }

    /// Checks that the cluster has a secret, where one is given.
    ///
    /// # Errors
    ///
    /// It has another.
    pub fn check_secret(&self, given: Option<FingerprintKey>) -> Result<(), IdentityError> {
        if given.is_some_and(|given| given != self.key) {
            // Neither secret is shown.
            return same("the fingerprint secret", &"one secret", &"another");
        }
        Ok(())
    }

    /// Checks that this program names and places URLs as the directory does, and that it is the one that is asked for.
    ///
    /// # Errors
    ///
    /// The node, the founders, the number of shards or replicas, the suffix list or the canonicaliser differs.
    pub fn check_identity(
        &self,
        suffixes: &SuffixList,
        asked: &Asked,
    ) -> Result<(), IdentityError> {
        if let Some(node) = asked.node {
            same("the node's number", &node_number(self.replica), &node)?;
        }
        if !asked.founders.is_empty() && asked.founders != self.founders {
            let words = |founders: &[u32]| format!("{founders:?}");
            let (stored, given) = (words(&self.founders), words(&asked.founders));
            return same("the list of founding nodes", &stored, &given);
        }
        if let Some(shards) = asked.shards {
            same("the number of shards", &(self.shards.len() as u64), &shards)?;
        }
        if let Some(replicas) = asked.replicas {
            let on_each = u32::try_from(self.founders.len()).unwrap_or(u32::MAX);
            let stored = if self.replicas == 0 {
                on_each
            } else {
                self.replicas
            };
            same("the number of replicas", &stored, &replicas)?;
        }
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

/// Random bytes of the system's generator.
pub(crate) fn draw<const N: usize>() -> Result<[u8; N], IdentityError> {
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

    /// case L17: a start that finds a part gone must not make it anew, for its votes were in it.
    #[test]
    fn a_database_that_is_gone_after_it_was_used_is_missed() {
        let dir = tempfile::tempdir().unwrap();
        let suffixes = SuffixList::shipped();
        let mut made = Descriptor::open(dir.path(), 3, &suffixes, 1, None).unwrap();
        // Before its groups were opened nothing can be missing.
        assert!(Descriptor::read(dir.path()).unwrap().is_some());
        let parts = ["log", "state"].map(|part| dir.path().join(part));
        for part in &parts {
            std::fs::create_dir_all(part).unwrap();
            std::fs::write(part.join("CURRENT"), "x").unwrap();
        }
        made.mark_opened(dir.path()).unwrap();
        assert!(Descriptor::read(dir.path()).unwrap().unwrap().opened);
        let words = || Descriptor::read(dir.path()).unwrap_err().to_string();
        std::fs::remove_file(parts[0].join("CURRENT")).unwrap();
        assert!(
            words().contains("lost its log,") && words().contains("replica 3"),
            "{}",
            words()
        );
        std::fs::remove_dir_all(&parts[0]).unwrap();
        std::fs::remove_dir_all(&parts[1]).unwrap();
        assert!(
            words().contains("lost its log and its state"),
            "{}",
            words()
        );
    }

    #[test]
    fn a_directory_of_another_node_or_cluster_is_refused_by_name() {
        let suffixes = SuffixList::shipped();
        let founded = Descriptor::found(5 << 32 | 2, vec![1, 2, 3], 4, &suffixes, None).unwrap();
        let asked = |node, founders: &[u32], shards| {
            let founders = founders.to_vec();
            let asked = Asked {
                node: Some(node),
                founders,
                shards,
                replicas: None,
            };
            let checked = founded.check_identity(&suffixes, &asked);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(asked(2, &[1, 2, 3], Some(4)), Ok(()));
        assert_eq!(asked(2, &[], None), Ok(()));
        let nothing = founded.check_identity(&suffixes, &Asked::default());
        assert!(nothing.is_ok(), "what is not named is taken as it is");
        let words = asked(1, &[1, 2, 3], Some(4)).unwrap_err();
        assert!(
            words.contains("the node's number differs: the directory has 2, this start has 1"),
            "{words}"
        );
        let words = asked(2, &[1, 2], None).unwrap_err();
        assert!(
            words.contains("[1, 2, 3]") && words.contains("[1, 2]"),
            "{words}"
        );
        assert!(
            asked(2, &[], Some(7))
                .unwrap_err()
                .contains("number of shards")
        );
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
