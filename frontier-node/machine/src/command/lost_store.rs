//! `lost_store`: a page store is gone for good. First its id is noted as dead, then, in bounded slices, what had its only copy
//! there is queued again.
//!
//! The note comes before the first slice: a report that names dead stores alone queues its page again, so that no record behind
//! a slice can come to need one. Ids of stores are never used again, and a split's child inherits the note.
//!
//! | where the URL is | what becomes of it |
//! |---|---|
//! | done, or waiting for its next visit | queued, due now |
//! | queued or leased | stays; its next fetch is unconditional, and a 304 to one that was under way is not taken |
//! | removed or refused | stays; its page is gone, and nobody asked for another |
//! | of a crawl that is removed | stays |
//!
//! The record loses stores and validators and keeps the digest apart, so that the change statistics go on as if nothing had been
//! lost. A page that has a copy elsewhere is left alone: its record names that store too.

mod apply;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

/// One slice.
#[derive(Clone, PartialEq, prost::Message)]
pub struct LostStore {
    /// Id of the store, as URL records name it; 0 is refused.
    #[prost(uint32, tag = "1")]
    pub store: u32,
    /// Also queue again what had its only copy there; else the id is noted and no more.
    #[prost(bool, tag = "2")]
    pub sweep: bool,
    /// Empty at the start; else as the last slice answered.
    #[prost(bytes = "vec", tag = "3")]
    pub cursor: Vec<u8>,
}

/// The answer to one slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostStoreReply {
    /// URLs that this slice put into the queue.
    pub requeued: u64,
    /// URLs that waited to be fetched anyway, and are fetched whole now.
    pub waiting: u64,
    /// URLs that stay as they are, without a page.
    pub ended: u64,
    /// Not empty: more to do.
    pub cursor: Vec<u8>,
    /// Empty, or why nothing was done.
    pub refused: &'static str,
}
