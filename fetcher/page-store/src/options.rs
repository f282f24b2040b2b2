//! How a store is opened: one directory and its bounds.

use std::path::PathBuf;

use crate::limits;

/// Options of [`PageStore::open`](crate::PageStore::open). [`StoreOptions::new`] gives the defaults.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The directory; created when missing (its parent must exist).
    pub dir: PathBuf,
    /// A segment that would grow beyond this is closed before the record is written. A record larger than this has a segment to itself.
    pub segment_max_size_bytes: u64,
    /// A larger payload is refused with [`PutError::TooLarge`](crate::PutError::TooLarge).
    pub payload_max_size_bytes: u64,
    /// Puts in progress at most; further ones wait.
    pub waiting_max_count: usize,
    /// Payload bytes of puts in progress at most; further puts wait. A payload larger than this goes alone.
    pub waiting_max_size_bytes: u64,
    /// Puts are refused with [`PutError::Full`](crate::PutError::Full) while the file system has less than this left; 0 = no bound.
    pub min_free_bytes: u64,
    /// Compressed bytes that share one fsync at most.
    pub group_max_size_bytes: u64,
    /// The index is flushed after this many segment bytes.
    pub index_flush_size_bytes: u64,
    /// The index is flushed this long after a change, in milliseconds.
    pub index_flush_interval_ms: u64,
    /// Deflate level of what comes plain, 1 (fast) to 9 (small).
    pub compression_level: u32,
    /// Name and version of the program, for the `warcinfo` records.
    pub software: String,
}

/// An option outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("option {name} is {value}: must be from {least} to {most}")]
pub struct InvalidOption {
    /// The field of [`StoreOptions`].
    pub name: &'static str,
    /// What was given.
    pub value: u64,
    /// The least that is accepted.
    pub least: u64,
    /// The most that is accepted.
    pub most: u64,
}

impl StoreOptions {
    /// The defaults, for this directory.
    pub fn new(dir: impl Into<PathBuf>) -> StoreOptions {
        StoreOptions {
            dir: dir.into(),
            segment_max_size_bytes: limits::SEGMENT_DEFAULT_MAX_SIZE_BYTES,
            payload_max_size_bytes: limits::PAYLOAD_DEFAULT_MAX_SIZE_BYTES,
            waiting_max_count: limits::WAITING_DEFAULT_MAX_COUNT,
            waiting_max_size_bytes: limits::WAITING_DEFAULT_MAX_SIZE_BYTES,
            min_free_bytes: 0,
            group_max_size_bytes: limits::GROUP_DEFAULT_MAX_SIZE_BYTES,
            index_flush_size_bytes: limits::INDEX_FLUSH_DEFAULT_SIZE_BYTES,
            index_flush_interval_ms: limits::INDEX_FLUSH_DEFAULT_INTERVAL_MS,
            compression_level: limits::COMPRESSION_DEFAULT_LEVEL,
            software: concat!("escapement-page-store/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    /// Names the first option that is out of range.
    pub(crate) fn check(&self) -> Result<(), InvalidOption> {
        let ranges = [
            (
                "segment_max_size_bytes",
                self.segment_max_size_bytes,
                limits::SEGMENT_LEAST_MAX_SIZE_BYTES,
                limits::SEGMENT_HARD_MAX_SIZE_BYTES,
            ),
            (
                "payload_max_size_bytes",
                self.payload_max_size_bytes,
                1,
                limits::PAYLOAD_HARD_MAX_SIZE_BYTES,
            ),
            (
                "waiting_max_count",
                self.waiting_max_count as u64,
                1,
                limits::WAITING_HARD_MAX_COUNT as u64,
            ),
            (
                "waiting_max_size_bytes",
                self.waiting_max_size_bytes,
                1,
                limits::WAITING_HARD_MAX_SIZE_BYTES,
            ),
            (
                "group_max_size_bytes",
                self.group_max_size_bytes,
                1,
                limits::GROUP_HARD_MAX_SIZE_BYTES,
            ),
            (
                "index_flush_size_bytes",
                self.index_flush_size_bytes,
                1,
                limits::SEGMENT_HARD_MAX_SIZE_BYTES,
            ),
            (
                "index_flush_interval_ms",
                self.index_flush_interval_ms,
                1,
                24 * 3_600_000,
            ),
            ("compression_level", u64::from(self.compression_level), 1, 9),
            (
                "software (length)",
                self.software.len() as u64,
                1,
                limits::SOFTWARE_MAX_SIZE_BYTES as u64,
            ),
        ];
        for (name, value, least, most) in ranges {
            if value < least || value > most {
                return Err(InvalidOption {
                    name,
                    value,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_pass_and_each_wrong_option_is_named() {
        assert_eq!(StoreOptions::new("x").check(), Ok(()));
        let mut zero_level = StoreOptions::new("x");
        zero_level.compression_level = 0;
        assert_eq!(
            zero_level.check().map_err(|e| e.name),
            Err("compression_level")
        );
        let mut huge_payload = StoreOptions::new("x");
        huge_payload.payload_max_size_bytes = u64::MAX;
        let refused = huge_payload.check().map_err(|e| e.to_string());
        assert!(
            matches!(refused, Err(text) if text.contains("payload_max_size_bytes") && text.contains("268435456"))
        );
    }
}
