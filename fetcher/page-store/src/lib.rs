//! A content-addressed page store: each distinct payload once, in append-only WARC 1.1 files that any archive tool reads.
//!
//! # What a digest names
//!
//! A [`Digest`] is the SHA-256 of the **payload**: the response body after transfer decoding (chunk framing removed) **and** after
//! content decoding (gzip, deflate, br, zstd removed). The bytes hashed are the bytes stored and the bytes [`PageStore::get`]
//! returns. So one page served with two chunkings, or once compressed and once plain, is one payload. WARC 1.1 section 6.3.2
//! asks for the former; the latter is this store's choice, and the stored HTTP header says so: `Content-Encoding`,
//! `Transfer-Encoding` and `Content-Length` are kept as `X-Archive-Orig-...` and the true `Content-Length` is written.
//!
//! # On disk
//!
//! ```text
//! DIR/lock                      held by the one writer (flock)
//! DIR/store-id                  32 hex digits, made once
//! DIR/pages-000001.warc.gz      a segment: warcinfo, then records, one gzip member a record
//! DIR/pages-000002.warc.gz      ...
//! DIR/index/                    RocksDB: digest -> place, and a mark a segment
//! ```
//!
//! The first capture of a payload is a `response` record; a later capture of the same bytes is a `revisit` record that refers to
//! it (profile `identical-payload-digest`); an answer 304 is a `revisit` with profile `server-not-modified` under the old digest.
//!
//! # What is durable when
//!
//! A put returns after `fdatasync` of the segment that holds its record. Puts that wait together share one `fdatasync`. A digest
//! becomes known only then, and a put of a digest that is being written waits for it. The index has no log of its own: it is
//! flushed now and then, and opening the store reads each segment again from the flushed mark on. So the segments alone are the
//! truth, and `index/` may be deleted: it is rebuilt.
//!
//! # How it is laid out
//!
//! | module | what |
//! |---|---|
//! | `store`, `options`, `limits`, `error` | what callers touch |
//! | `capture`, `announcement`, `deflated`, `page`, `digest` | what goes in and comes out |
//! | `prepare`, `claims`, `gate` | the part of a put that runs in the caller's pool: bound, hash, claim, compress |
//! | `writer`, `journal` | the one thread that appends, syncs and answers |
//! | `warc` | the format: fields, HTTP heads, gzip members |
//! | `segment` | files of members: names, creation, reading |
//! | `index` | rows and marks in RocksDB |
//! | `read`, `records`, `scrub`, `recovery` | one page again, all records, all checked, the tail after a crash |
//! | `disk` | the system calls that decide durability |

mod announcement;
mod capture;
mod claims;
mod deflated;
mod digest;
mod disk;
mod error;
mod gate;
mod index;
mod journal;
pub mod limits;
mod lock;
mod options;
mod page;
mod prepare;
mod read;
mod records;
mod recovery;
mod scrub;
mod segment;
mod stats;
mod store;
mod store_id;
mod warc;
mod writer;

#[cfg(test)]
mod testing;

pub use announcement::{Announced, Announcement, Wanted};
pub use capture::{Capture, Truncated, UnmodifiedCapture};
pub use deflated::{BadDeflate, Deflated};
pub use digest::{Digest, ParseDigestError};
pub use error::{BadRecord, GetError, InvalidCapture, OpenError, PutError};
pub use options::{InvalidOption, StoreOptions};
pub use page::{Outcome, Page, Place, Put};
pub use records::{RecordKind, Records, StoredRecord};
pub use scrub::{ScrubProblem, ScrubReport};
pub use stats::StoreStats;
pub use store::PageStore;
pub use warc::date::format as format_date;
