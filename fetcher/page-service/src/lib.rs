//! The page store over gRPC (`store.v1`): one store served, one store called, and many stores as one.
//!
//! # A put
//!
//! The digest goes first. A store that knows the payload records the capture and takes no bytes; one that does not asks for them. A
//! digest is known only after its fsync: a second put of the same new payload waits for the first, so the bytes travel once. They
//! travel deflated where that helps: the sender compresses once for all stores, and each keeps what came, after it has inflated it
//! to check size and digest. The answer comes after the fsync.
//!
//! # Many stores
//!
//! [`Ring`] orders the stores for a digest, the same on every machine. [`ClusterStore`] puts a page to the first `copies` stores in
//! that order **that answer**, to all of them at once, and is done after the fsync of each. A store that fails is left out for a
//! while and asked with a small call, never with a page, before it gets one again. Where fewer than `copies` answer nothing is
//! acknowledged. Results name the stores, for the URL's record; reading asks those.
//!
//! | folder | what |
//! |---|---|
//! | `server/` | the service over a [`page_store::PageStore`] |
//! | `client/` | one remote store |
//! | `cluster/` | all stores: who answers, where a page goes, which copy is read |
//! | `parcel.rs` | a capture on its way: hashed once, deflated once |
//! | `ring.rs`, `directory.rs` | placement; which stores there are |
//! | `wire/`, `error.rs` | messages to types and back; call errors |
//! | `limits.rs` | every bound |

mod client;
mod cluster;
mod directory;
mod error;
pub mod limits;
mod parcel;
mod ring;
mod server;
mod wire;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

pub use client::{
    AddressError, ClientOptions, ScrubEvent, ScrubProgress, StoreClient, StoreStatus,
};
pub use cluster::{
    ClusterGetError, ClusterMetrics, ClusterOptions, ClusterPut, ClusterPutError, ClusterStore,
    FailedCopy, Fetched, StoreState,
};
pub use directory::{FixedStores, StoreDirectory};
pub use error::StoreCallError;
pub use parcel::Parcel;
pub use ring::Ring;
pub use server::{ServiceOptions, StoreService, service, service_with};
