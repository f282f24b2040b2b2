//! One page store, served: a thin skin with limits, over [`PageStore`].

mod get;
mod options;
mod put;
mod scrub;

pub use options::ServiceOptions;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use page_store::PageStore;
use pb::store_server::{Store, StoreServer};
use proto::store_v1 as pb;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::limits::{BUSY_RETRY_MS, HAS_DIGESTS, MESSAGE_SIZE_BYTES, STREAM_MESSAGES};
use crate::{StoreCallError, wire};

/// The service of a store under this id, for a gRPC server. Its connections' limits are the server's.
pub fn service(store: Arc<PageStore>, store_id: u32) -> StoreServer<StoreService> {
    service_with(store, store_id, ServiceOptions::default())
}

/// The same with other bounds.
pub fn service_with(
    store: Arc<PageStore>,
    store_id: u32,
    options: ServiceOptions,
) -> StoreServer<StoreService> {
    let service = StoreService(Arc::new(Shared {
        store,
        store_id,
        puts: Arc::new(Semaphore::new(options.open_puts_max_count)),
        gets: Arc::new(Semaphore::new(options.open_gets_max_count)),
        scrubs: Arc::new(Semaphore::new(1)),
        received_payload_bytes: AtomicU64::new(0),
        options,
    }));
    StoreServer::new(service)
        .max_decoding_message_size(MESSAGE_SIZE_BYTES)
        .max_encoding_message_size(MESSAGE_SIZE_BYTES)
}

/// A store's side of `store.v1`.
pub struct StoreService(Arc<Shared>);

struct Shared {
    store: Arc<PageStore>,
    store_id: u32,
    options: ServiceOptions,
    puts: Arc<Semaphore>,
    gets: Arc<Semaphore>,
    scrubs: Arc<Semaphore>,
    received_payload_bytes: AtomicU64,
}

impl Shared {
    /// Refuses what is meant for another store; 0 means any.
    const fn check_id(&self, store_id: u32) -> Result<(), StoreCallError> {
        if store_id == 0 || store_id == self.store_id {
            Ok(())
        } else {
            Err(StoreCallError::WrongStore {
                store_id: self.store_id,
            })
        }
    }

    fn busy(limit: &str, max: usize) -> StoreCallError {
        StoreCallError::OverLimit {
            limit: limit.to_owned(),
            value: max as u64 + 1,
            max: max as u64,
            retry_after_ms: BUSY_RETRY_MS,
        }
    }

    async fn put_unmodified(
        &self,
        request: pb::PutUnmodifiedRequest,
    ) -> Result<pb::PutUnmodifiedResponse, StoreCallError> {
        let max = self.options.open_puts_max_count;
        let _open = self
            .puts
            .try_acquire()
            .map_err(|_| Self::busy("open_puts", max))?;
        self.check_id(request.store_id)?;
        let put = self
            .store
            .put_unmodified(wire::unmodified(request)?)
            .await?;
        Ok(pb::PutUnmodifiedResponse {
            stored: Some(wire::stored(&put, self.store_id)),
        })
    }

    async fn has(
        self: &Arc<Self>,
        request: pb::HasRequest,
    ) -> Result<pb::HasResponse, StoreCallError> {
        self.check_id(request.store_id)?;
        if request.digests.len() > HAS_DIGESTS {
            return Err(StoreCallError::OverLimit {
                limit: "digests".to_owned(),
                value: request.digests.len() as u64,
                max: HAS_DIGESTS as u64,
                retry_after_ms: 0,
            });
        }
        let shared = Arc::clone(self);
        let known = blocking(move || {
            let known = request
                .digests
                .iter()
                .map(|bytes| Ok(shared.store.contains(&wire::digest(bytes)?)?));
            known.collect::<Result<Vec<bool>, StoreCallError>>()
        })
        .await?;
        Ok(pb::HasResponse {
            store_id: self.store_id,
            known,
        })
    }

    async fn status(
        self: &Arc<Self>,
        request: pb::StatusRequest,
    ) -> Result<pb::StatusResponse, StoreCallError> {
        self.check_id(request.store_id)?;
        let shared = Arc::clone(self);
        let free_bytes = blocking(move || {
            let free = shared.store.free_bytes();
            free.map_err(|error| StoreCallError::Unavailable {
                reason: format!("the store's directory: {error}"),
                retry_after_ms: 0,
            })
        })
        .await?;
        let stats = self.store.stats();
        let open_puts = self.options.open_puts_max_count - self.puts.available_permits();
        Ok(pb::StatusResponse {
            store_id: self.store_id,
            records: stats.records,
            bytes: stats.bytes,
            payloads: stats.payloads,
            payload_bytes: stats.payload_bytes,
            duplicates: stats.duplicates,
            unmodified: stats.unmodified,
            segments: stats.segments,
            fsyncs: stats.fsyncs,
            free_bytes,
            payload_max_size_bytes: self.store.payload_max_size_bytes(),
            open_puts: open_puts as u64,
            received_payload_bytes: self.received_payload_bytes.load(Ordering::Relaxed),
        })
    }
}

/// Runs what blocks on the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreCallError> + Send + 'static,
) -> Result<T, StoreCallError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| {
            Err(StoreCallError::Unavailable {
                reason: error.to_string(),
                retry_after_ms: 0,
            })
        })
}

#[tonic::async_trait]
impl Store for StoreService {
    type PutStream = ReceiverStream<Result<pb::PutResponse, Status>>;
    type GetStream = ReceiverStream<Result<pb::GetResponse, Status>>;
    type ScrubStream = ReceiverStream<Result<pb::ScrubResponse, Status>>;

    async fn put(
        &self,
        request: Request<Streaming<pb::PutRequest>>,
    ) -> Result<Response<Self::PutStream>, Status> {
        let max = self.0.options.open_puts_max_count;
        let open = Arc::clone(&self.0.puts)
            .try_acquire_owned()
            .map_err(|_| Shared::busy("open_puts", max))?;
        let (answers, stream) = mpsc::channel(STREAM_MESSAGES);
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            put::serve(&shared, request.into_inner(), answers).await;
            drop(open);
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn put_unmodified(
        &self,
        request: Request<pb::PutUnmodifiedRequest>,
    ) -> Result<Response<pb::PutUnmodifiedResponse>, Status> {
        let response = self.0.put_unmodified(request.into_inner()).await?;
        Ok(Response::new(response))
    }

    async fn get(
        &self,
        request: Request<pb::GetRequest>,
    ) -> Result<Response<Self::GetStream>, Status> {
        let stream = get::serve(&self.0, request.into_inner()).await?;
        Ok(Response::new(stream))
    }

    async fn has(
        &self,
        request: Request<pb::HasRequest>,
    ) -> Result<Response<pb::HasResponse>, Status> {
        Ok(Response::new(self.0.has(request.into_inner()).await?))
    }

    async fn scrub(
        &self,
        request: Request<pb::ScrubRequest>,
    ) -> Result<Response<Self::ScrubStream>, Status> {
        Ok(Response::new(scrub::serve(&self.0, request.into_inner())?))
    }

    async fn status(
        &self,
        request: Request<pb::StatusRequest>,
    ) -> Result<Response<pb::StatusResponse>, Status> {
        Ok(Response::new(self.0.status(request.into_inner()).await?))
    }
}
