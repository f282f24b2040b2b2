//! What a backup's directory holds: `manifest.json`, written last, with its own SHA-256 beside it.

use super::row_file::{damaged, failed, verify};
use crate::output::CommandError;
use proto::admin_v1 as pb;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Of the layout; a reader refuses another.
const VERSION: u32 = 1;
pub(super) const MANIFEST: &str = "manifest.json";
const MANIFEST_HASH: &str = "manifest.sha256";
/// The fingerprints' secret: 32 hexadecimal digits, for its owner only.
pub(super) const SECRET: &str = "secret";
/// The shard map, in its own layout.
pub(super) const MAP: &str = "map";
/// Bytes of a manifest at most.
const MANIFEST_SIZE_BYTES: u64 = 64 << 20;

/// The backup of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) version: u32,
    #[serde(with = "hex64")]
    pub(super) cluster_id: u64,
    pub(super) canonicalizer_version: u32,
    #[serde(with = "hex64")]
    pub(super) suffix_list_digest: u64,
    /// SHA-256 of the secret's 16 bytes.
    pub(super) secret_sha256: String,
    pub(super) map_sha256: String,
    pub(super) began_unix_ms: u64,
    pub(super) ended_unix_ms: u64,
    /// By first hash; together they are the whole range.
    pub(super) shards: Vec<ShardEntry>,
}

/// A shard, and its two files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShardEntry {
    pub(super) shard: u64,
    #[serde(with = "hex64")]
    pub(super) first: u64,
    #[serde(with = "hex64")]
    pub(super) last: u64,
    pub(super) epoch: u64,
    /// Of its log, at the cut.
    pub(super) applied_index: u64,
    /// Shard time at the cut.
    pub(super) now_ms: u64,
    pub(super) token: u64,
    pub(super) outbox_sequence: u64,
    /// Nothing is leased.
    pub(super) paused: bool,
    /// Stores that are gone for good.
    pub(super) dead_stores: Vec<u32>,
    /// Token counter when the backup began.
    pub(super) begin_token: u64,
    /// What was kept when the backup began.
    pub(super) begin: FileEntry,
    /// All rows.
    pub(super) cut: FileEntry,
}

/// A file of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileEntry {
    pub(super) name: String,
    pub(super) size_bytes: u64,
    pub(super) blocks: u64,
    pub(super) rows: u64,
    pub(super) sha256: String,
}

impl Manifest {
    /// Of a cluster, without shards yet.
    pub(super) fn new(founding: &pb::FoundingResponse, map: &[u8], began_unix_ms: u64) -> Self {
        Self {
            version: VERSION,
            cluster_id: founding.cluster_id,
            canonicalizer_version: founding.canonicalizer_version,
            suffix_list_digest: founding.suffix_list_digest,
            secret_sha256: hex::encode(Sha256::digest(&founding.fingerprint_secret)),
            map_sha256: hex::encode(Sha256::digest(map)),
            began_unix_ms,
            ended_unix_ms: began_unix_ms,
            shards: Vec::new(),
        }
    }

    /// Writes it: with it the backup is whole.
    pub(super) fn write(&self, dir: &Path) -> Result<(), CommandError> {
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| CommandError::of("the manifest", error))?;
        write_file(
            dir,
            MANIFEST_HASH,
            hex::encode(Sha256::digest(&text)).as_bytes(),
            0o644,
        )?;
        write_file(dir, MANIFEST, &text, 0o644)?;
        let synced = File::open(dir).and_then(|dir| dir.sync_all());
        synced.map_err(|error| failed("write", dir, error))
    }

    /// Reads it, and checks it against its hash.
    pub(super) fn read(dir: &Path) -> Result<Self, CommandError> {
        let path = dir.join(MANIFEST);
        if !path.exists() && dir.exists() {
            return Err(CommandError::Message(format!(
                "{} holds no whole backup: it has no {MANIFEST}, which is written last",
                dir.display()
            )));
        }
        let size = std::fs::metadata(&path).map_err(|error| failed("read", &path, error))?;
        if size.len() > MANIFEST_SIZE_BYTES {
            return Err(damaged(&path, "it is too large"));
        }
        let text = std::fs::read(&path).map_err(|error| failed("read", &path, error))?;
        let hash_path = dir.join(MANIFEST_HASH);
        let hash = std::fs::read_to_string(&hash_path)
            .map_err(|error| failed("read", &hash_path, error))?;
        if hash.trim() != hex::encode(Sha256::digest(&text)) {
            return Err(damaged(
                &path,
                "its SHA-256 is not that of what was written",
            ));
        }
        let manifest: Self =
            serde_json::from_slice(&text).map_err(|error| damaged(&path, &error.to_string()))?;
        if manifest.version != VERSION {
            let reason = format!("layout version {} is not {VERSION}", manifest.version);
            return Err(damaged(&path, &reason));
        }
        manifest.check(&path)?;
        Ok(manifest)
    }

    fn check(&self, path: &Path) -> Result<(), CommandError> {
        let ranges = self.shards.iter().map(|shard| (shard.first, shard.last));
        if !is_whole(ranges) {
            return Err(damaged(path, "its shards are not the whole range"));
        }
        let files = self
            .shards
            .iter()
            .flat_map(|shard| [&shard.begin, &shard.cut]);
        let is_plain = |file: &FileEntry| !file.name.contains('/') && !file.name.starts_with('.');
        if !files.into_iter().all(is_plain) {
            return Err(damaged(path, "it names files elsewhere"));
        }
        Ok(())
    }

    /// Reads every file, the secret and the map too.
    pub(super) fn verify(&self, dir: &Path) -> Result<(), CommandError> {
        self.secret(dir)?;
        let map = dir.join(MAP);
        let bytes = std::fs::read(&map).map_err(|error| failed("read", &map, error))?;
        if hex::encode(Sha256::digest(bytes)) != self.map_sha256 {
            return Err(damaged(&map, "its SHA-256 is not that of what was written"));
        }
        let files = self
            .shards
            .iter()
            .flat_map(|shard| [&shard.begin, &shard.cut]);
        files.into_iter().try_for_each(|file| verify(dir, file))
    }

    /// The secret of the fingerprints.
    pub(super) fn secret(&self, dir: &Path) -> Result<[u8; 16], CommandError> {
        let path = dir.join(SECRET);
        let text = std::fs::read_to_string(&path).map_err(|error| failed("read", &path, error))?;
        let secret: Option<[u8; 16]> = hex::decode(text.trim())
            .ok()
            .and_then(|bytes| bytes.try_into().ok());
        secret
            .filter(|secret| hex::encode(Sha256::digest(secret)) == self.secret_sha256)
            .ok_or_else(|| damaged(&path, "it is not the backup's secret"))
    }

    /// Names this backup.
    pub(super) fn id(&self) -> u64 {
        let text = serde_json::to_vec(self).unwrap_or_default();
        let hash: [u8; 32] = Sha256::digest(text).into();
        let first = hash.iter().take(8);
        // 0 names nothing.
        first
            .fold(0, |id, byte| (id << 8) | u64::from(*byte))
            .max(1)
    }
}

/// Whether ranges follow each other and are together all hashes.
pub(super) fn is_whole(ranges: impl IntoIterator<Item = (u64, u64)>) -> bool {
    let mut next = Some(0);
    for (first, last) in ranges {
        if next != Some(first) || last < first {
            return false;
        }
        next = last.checked_add(1);
    }
    next.is_none()
}

/// Writes a small file, synced.
pub(super) fn write_file(
    dir: &Path,
    name: &str,
    bytes: &[u8],
    mode: u32,
) -> Result<(), CommandError> {
    let path = dir.join(name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode);
    let written = options.open(&path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|error| failed("write", &path, error))
}

/// Sixteen digits: not every reader of JSON has 64-bit numbers.
mod hex64 {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{value:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        u64::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let founding = pb::FoundingResponse {
            cluster_id: 7,
            fingerprint_secret: vec![3; 16].into(),
            suffix_list_digest: u64::MAX,
            canonicalizer_version: 1,
        };
        let mut manifest = Manifest::new(&founding, b"map", 5);
        let shard = |shard, first, last| ShardEntry {
            shard,
            first,
            last,
            epoch: 1,
            applied_index: 2,
            now_ms: 3,
            token: 4,
            outbox_sequence: 5,
            paused: false,
            dead_stores: Vec::new(),
            begin_token: 3,
            begin: FileEntry::default(),
            cut: FileEntry::default(),
        };
        manifest.shards = vec![shard(1, 0, 9), shard(2, 10, u64::MAX)];
        manifest
    }

    #[test]
    fn ranges_are_whole_without_gap_or_overlap() {
        assert!(is_whole([(0, u64::MAX)]) && is_whole([(0, 9), (10, u64::MAX)]));
        let wrong: [&[(u64, u64)]; 5] = [
            &[],
            &[(0, 9)],
            &[(1, u64::MAX)],
            &[(0, 9), (11, u64::MAX)],
            &[(0, 9), (9, u64::MAX)],
        ];
        for ranges in wrong {
            assert!(!is_whole(ranges.iter().copied()), "{ranges:?}");
        }
    }

    #[test]
    fn it_is_read_as_it_was_written_and_not_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let told = Manifest::read(dir.path()).unwrap_err().to_string();
        assert!(told.contains("no whole backup"), "{told}");
        manifest().write(dir.path()).unwrap();
        assert_eq!(Manifest::read(dir.path()).unwrap(), manifest());
        let path = dir.path().join(MANIFEST);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"epoch\": 1", "\"epoch\": 2")).unwrap();
        assert!(Manifest::read(dir.path()).is_err());
        let mut gap = manifest();
        gap.shards.pop();
        gap.write(dir.path()).unwrap();
        assert!(Manifest::read(dir.path()).is_err());
        assert_ne!(gap.id(), manifest().id());
    }

    #[test]
    fn another_secret_is_no_secret_of_it() {
        let dir = tempfile::tempdir().unwrap();
        write_file(dir.path(), SECRET, hex::encode([3; 16]).as_bytes(), 0o600).unwrap();
        assert_eq!(manifest().secret(dir.path()).unwrap(), [3; 16]);
        write_file(dir.path(), SECRET, hex::encode([4; 16]).as_bytes(), 0o600).unwrap();
        assert!(manifest().secret(dir.path()).is_err());
    }
}
