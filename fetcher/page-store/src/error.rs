//! What may go wrong, one enum an operation; every message names the file or the value.

use std::io;
use std::path::PathBuf;

use crate::deflated::BadDeflate;
use crate::digest::Digest;
use crate::options::InvalidOption;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// An option is out of range.
    #[error(transparent)]
    Option(#[from] InvalidOption),
    /// Another store, in this or another process, has the directory open.
    #[error("{} is in use by another writer", dir.display())]
    Locked {
        /// The directory.
        dir: PathBuf,
    },
    /// A file operation failed.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The index could not be opened, read or written. The store's `index` directory may be deleted: it is rebuilt from the segments.
    #[error("index {}: {message}", path.display())]
    Index {
        /// The index directory.
        path: PathBuf,
        /// RocksDB's reason, or the row that makes no sense.
        message: String,
    },
    /// A record that was durable is damaged: nothing is cut, for the bytes after it count.
    #[error("{} is damaged at byte {offset_bytes}: {reason}", path.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// Where the damaged record begins.
        offset_bytes: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A segment ends before a byte that was durable.
    #[error("{} ends at byte {size_bytes}, but {durable_bytes} bytes of it were durable", path.display())]
    Short {
        /// The segment.
        path: PathBuf,
        /// Its size now.
        size_bytes: u64,
        /// The size it must have at least.
        durable_bytes: u64,
    },
    /// A segment that held durable records is gone.
    #[error("{} is missing, but {durable_bytes} bytes of it were durable", path.display())]
    Missing {
        /// The segment.
        path: PathBuf,
        /// The size it must have at least.
        durable_bytes: u64,
    },
    /// The `store-id` file holds something else.
    #[error("{} does not hold a store id of 32 hex digits", path.display())]
    StoreId {
        /// The file.
        path: PathBuf,
    },
}

/// Why a capture was not stored. Nothing of it is known afterwards, and it may be put again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PutError {
    /// The capture cannot be written as a record.
    #[error("capture refused: {0}")]
    Invalid(#[from] InvalidCapture),
    /// The payload is longer than the store accepts.
    #[error("payload of {size_bytes} bytes is over the limit of {max_bytes}")]
    TooLarge {
        /// Its size.
        size_bytes: u64,
        /// The limit.
        max_bytes: u64,
    },
    /// The bytes that arrived are not those that were announced.
    #[error(
        "{found_bytes} bytes with digest {found} are not the announced {announced_bytes} bytes with digest {announced}"
    )]
    NotAsAnnounced {
        /// The digest that was announced.
        announced: Digest,
        /// The size that was announced.
        announced_bytes: u64,
        /// What arrived.
        found: Digest,
        /// How much arrived.
        found_bytes: u64,
    },
    /// The payload came deflated, and is not what it should be.
    #[error(transparent)]
    Deflate(#[from] BadDeflate),
    /// A 304 names a payload that is not here.
    #[error("no payload {digest} in this store")]
    UnknownDigest {
        /// What it names.
        digest: Digest,
    },
    /// There is no space left. The next put tries again.
    #[error("no space left: cannot {what}")]
    Full {
        /// The operation and its file.
        what: String,
    },
    /// A file operation failed. The next put tries again.
    #[error("cannot {what}")]
    Io {
        /// The operation, its file and the system's reason.
        what: String,
    },
    /// The earlier capture that this one repeats could not be looked up.
    #[error(transparent)]
    Lookup(#[from] GetError),
    /// The store is shutting down.
    #[error("the store is closed")]
    Closed,
}

/// What a record cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCapture {
    /// The URL is empty or too long.
    #[error("URL of {0} bytes")]
    UrlLength(usize),
    /// The URL holds a space or a control character.
    #[error("URL with a space or a control character")]
    UrlCharacter,
    /// Not a three-digit status.
    #[error("status {0}")]
    Status(u16),
    /// The protocol name is too long or not visible ASCII.
    #[error("protocol name")]
    Protocol,
    /// The reason phrase is too long.
    #[error("reason phrase too long")]
    Reason,
    /// A header name that is no token.
    #[error("header name {0:?}")]
    HeaderName(String),
    /// All headers together are too long.
    #[error("headers of {0} bytes")]
    HeadersSize(usize),
    /// A date after the year 9999.
    #[error("capture time {0} ms is after the year 9999")]
    Date(u64),
}

/// Why a page could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GetError {
    /// The index could not be read.
    #[error("index: {0}")]
    Index(String),
    /// The segment could not be read.
    #[error("cannot read {}: {message}", path.display())]
    Io {
        /// The segment.
        path: PathBuf,
        /// The system's reason.
        message: String,
    },
    /// What lies there is not what was stored.
    #[error("{} is damaged at byte {offset_bytes}: {reason}", path.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// Where the record begins.
        offset_bytes: u64,
        /// What is wrong there.
        reason: BadRecord,
    },
}

/// What is wrong with the bytes of a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRecord {
    /// The file ends inside the record.
    #[error("the record is cut short")]
    Cut,
    /// No gzip member of this store begins here.
    #[error("no record begins here")]
    NotAMember,
    /// The member does not decompress, its checksum is wrong, or it is longer than it says.
    #[error("the gzip member is damaged: {0}")]
    Gzip(String),
    /// The WARC header makes no sense.
    #[error("the WARC header is wrong: {0}")]
    Warc(&'static str),
    /// The HTTP head makes no sense.
    #[error("the HTTP head is wrong: {0}")]
    Http(&'static str),
    /// The payload is not the one that was stored.
    #[error("the payload's digest is {found}, not {wanted}")]
    Digest {
        /// What was stored.
        wanted: Digest,
        /// What is there.
        found: Digest,
    },
    /// The block is not the one that was stored.
    #[error("the block's digest is wrong")]
    BlockDigest,
    /// The index points at a record of another kind.
    #[error("not a response record")]
    NotAResponse,
}
