//! One remote store.

mod get;
mod options;
mod put;
mod scrub;

pub use options::ClientOptions;
pub use scrub::{ScrubEvent, ScrubProgress};

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use page_store::{Digest, Put, StoreStats, UnmodifiedCapture};
use pb::store_client::StoreClient as GrpcStore;
use proto::store_v1 as pb;
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status};

use crate::limits::{KEEP_ALIVE_MS, MESSAGE_SIZE_BYTES};
use crate::{StoreCallError, wire};

/// Why a store's address was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} is not a store's address: {reason}")]
pub struct AddressError {
    /// What was given.
    pub address: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What a store is and holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreStatus {
    /// Its id in URL records.
    pub store_id: u32,
    /// Its counts.
    pub stats: StoreStats,
    /// Bytes left on its file system.
    pub free_bytes: u64,
    /// The largest payload that it takes.
    pub payload_max_size_bytes: u64,
    /// Puts under way there.
    pub open_puts: u64,
    /// Payload bytes that it received since its service was made.
    pub received_payload_bytes: u64,
}

/// A store in another process. One connection, opened at the first call and again after it broke; clones share it.
#[derive(Clone, Debug)]
pub struct StoreClient {
    grpc: GrpcStore<Channel>,
    store_id: u32,
    address: Arc<str>,
    options: ClientOptions,
    sent_payload_bytes: Arc<AtomicU64>,
}

impl StoreClient {
    /// The store with this id (0 = whichever is there) at `host:port`, or at a whole `http://` URI. Does not connect yet; needs a
    /// Tokio runtime.
    ///
    /// # Errors
    ///
    /// The address is malformed.
    pub fn new(store_id: u32, address: &str, options: ClientOptions) -> Result<Self, AddressError> {
        let uri = if address.contains("://") {
            address.to_owned()
        } else {
            format!("http://{address}")
        };
        let endpoint = Endpoint::from_shared(uri)
            .map_err(|error| AddressError {
                address: address.to_owned(),
                reason: error.to_string(),
            })?
            .connect_timeout(Duration::from_millis(options.connect_timeout_ms))
            .http2_keep_alive_interval(Duration::from_millis(KEEP_ALIVE_MS.0))
            .keep_alive_timeout(Duration::from_millis(KEEP_ALIVE_MS.1))
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(16 << 20)
            .tcp_nodelay(true);
        let grpc = GrpcStore::new(endpoint.connect_lazy())
            .max_decoding_message_size(MESSAGE_SIZE_BYTES)
            .max_encoding_message_size(MESSAGE_SIZE_BYTES);
        Ok(Self {
            grpc,
            store_id,
            address: address.into(),
            options,
            sent_payload_bytes: Arc::default(),
        })
    }

    /// The address it was made with.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Payload bytes sent since it was made, by all clones.
    #[must_use]
    pub fn sent_payload_bytes(&self) -> u64 {
        self.sent_payload_bytes.load(Ordering::Relaxed)
    }

    /// Records an answer 304; returns when it is durable there.
    pub async fn put_unmodified(&self, capture: &UnmodifiedCapture) -> Result<Put, StoreCallError> {
        capture
            .check()
            .map_err(|error| StoreCallError::invalid(error.to_string()))?;
        let request = wire::unmodified_request(capture, self.store_id);
        let mut grpc = self.grpc.clone();
        let response = self.answer(grpc.put_unmodified(request)).await?;
        let stored = response.stored.ok_or_else(|| self.nonsense())?;
        Ok(wire::put(&stored, capture.digest))
    }

    /// Which of these payloads are known there, in order. At most [`HAS_DIGESTS`](crate::limits::HAS_DIGESTS).
    pub async fn has(&self, digests: &[Digest]) -> Result<Vec<bool>, StoreCallError> {
        let request = pb::HasRequest {
            store_id: self.store_id,
            digests: digests.iter().map(wire::digest_bytes).collect(),
        };
        let mut grpc = self.grpc.clone();
        let response = self.answer(grpc.has(request)).await?;
        if response.known.len() == digests.len() {
            Ok(response.known)
        } else {
            Err(self.nonsense())
        }
    }

    /// What it is and holds.
    pub async fn status(&self) -> Result<StoreStatus, StoreCallError> {
        let request = pb::StatusRequest {
            store_id: self.store_id,
        };
        let mut grpc = self.grpc.clone();
        let status = self.answer(grpc.status(request)).await?;
        Ok(StoreStatus {
            store_id: status.store_id,
            stats: StoreStats {
                records: status.records,
                bytes: status.bytes,
                payloads: status.payloads,
                payload_bytes: status.payload_bytes,
                duplicates: status.duplicates,
                unmodified: status.unmodified,
                segments: status.segments,
                fsyncs: status.fsyncs,
            },
            free_bytes: status.free_bytes,
            payload_max_size_bytes: status.payload_max_size_bytes,
            open_puts: status.open_puts,
            received_payload_bytes: status.received_payload_bytes,
        })
    }

    /// Waits for an answer no longer than it may take.
    async fn answer<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, StoreCallError> {
        let response = self.within(self.options.answer_timeout_ms, call).await?;
        Ok(response.into_inner())
    }

    async fn within<T>(
        &self,
        limit_ms: u64,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, StoreCallError> {
        match timeout(Duration::from_millis(limit_ms), call).await {
            Ok(outcome) => Ok(outcome?),
            Err(_) => Err(self.late(limit_ms)),
        }
    }

    fn late(&self, limit_ms: u64) -> StoreCallError {
        StoreCallError::no_answer(format!("nothing from {} in {limit_ms} ms", self.address))
    }

    fn nonsense(&self) -> StoreCallError {
        StoreCallError::no_answer(format!("{} breaks the contract", self.address))
    }
}
