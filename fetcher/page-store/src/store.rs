//! The store's handle: open, put, get.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::capture::{Capture, UnmodifiedCapture};
use crate::claims::Claims;
use crate::digest::Digest;
use crate::disk::{Disk, OsDisk};
use crate::error::{OpenError, PutError};
use crate::gate::{Gate, Pass};
use crate::index::Index;
use crate::journal::{Journal, JournalSettings};
use crate::lock::DirLock;
use crate::options::StoreOptions;
use crate::page::{Outcome, Put};
use crate::prepare::{Prepared, Preparer, ReadyRecord};
use crate::recovery;
use crate::store_id;
use crate::warc::{RecordIds, RecordType};
use crate::writer::{self, Request};

mod announced;
mod reading;

const INDEX_DIR_NAME: &str = "index";

/// A page store, open for writing. Clones share it; dropping the last one writes what waits, flushes the index and frees the
/// directory, which may block for some milliseconds.
#[derive(Clone)]
pub struct PageStore(Arc<Inner>);

struct Inner {
    dir: PathBuf,
    payload_max_size_bytes: u64,
    gate: Gate,
    preparer: Arc<Preparer>,
    index: Arc<Index>,
    fsyncs: Arc<AtomicU64>,
    /// Nothing once the store is being dropped.
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
    /// Last, so that it is released after the index is closed.
    _lock: DirLock,
}

impl PageStore {
    /// Opens or creates the store in `options.dir`, recovering what a crash left. Blocks while it reads.
    pub fn open(options: StoreOptions) -> Result<PageStore, OpenError> {
        PageStore::open_on(OsDisk, options)
    }

    pub(crate) fn open_on<D: Disk>(disk: D, options: StoreOptions) -> Result<PageStore, OpenError> {
        options.check()?;
        let dir = options.dir.clone();
        recovery::create_dir(&disk, &dir)?;
        let lock = DirLock::take(&dir)?;
        let store_id = store_id::read_or_create(&dir)?;
        let index_dir = dir.join(INDEX_DIR_NAME);
        let index_error = |message| OpenError::Index {
            path: index_dir.clone(),
            message,
        };
        let index = Arc::new(Index::open(&index_dir).map_err(|error| index_error(error.message))?);
        let ids = Arc::new(RecordIds::new(&store_id));
        let fsyncs = Arc::new(AtomicU64::new(0));
        let mut journal = Journal::new(
            disk,
            settings(&options, store_id),
            Arc::clone(&index),
            Arc::clone(&ids),
            Arc::clone(&fsyncs),
        );
        let recovered = recovery::recover(journal.disk(), &dir, &index)?;
        index.flush().map_err(|error| index_error(error.message))?;
        journal.resume(recovered.active, recovered.next_number);

        let (requests, waiting) = mpsc::channel();
        let group_max_size_bytes = options.group_max_size_bytes;
        let write = move || writer::run(journal, &waiting, group_max_size_bytes);
        let spawned = thread::Builder::new()
            .name("page-store".to_owned())
            .spawn(write);
        let writer = spawned.map_err(|source| OpenError::Io {
            what: "start the writer of",
            path: dir.clone(),
            source,
        })?;
        let compression_level = options.compression_level;
        let claims = Arc::new(Claims::default());
        let preparer = Arc::new(Preparer {
            index: Arc::clone(&index),
            claims,
            ids,
            compression_level,
        });
        Ok(PageStore(Arc::new(Inner {
            dir,
            payload_max_size_bytes: options.payload_max_size_bytes,
            gate: Gate::new(&options),
            preparer,
            index,
            fsyncs,
            requests: Some(requests),
            writer: Some(writer),
            _lock: lock,
        })))
    }

    /// Stores a capture; returns when it is durable. Needs a Tokio runtime. If the future is dropped the capture may be stored
    /// or not; putting it again is safe.
    pub async fn put(&self, capture: Capture) -> Result<Put, PutError> {
        let size_bytes = capture.payload.len() as u64;
        self.check(&capture, size_bytes)?;
        let pass = self
            .0
            .gate
            .enter(size_bytes + headers_size_bytes(&capture.headers))
            .await?;
        let capture = Arc::new(capture);
        let mut digest = None;
        loop {
            let capture = Arc::clone(&capture);
            // Hashed once, in the same trip to the pool as the rest.
            let prepare = move |preparer: &Preparer| {
                let digest = digest.unwrap_or_else(|| Digest::of(&capture.payload));
                preparer
                    .capture(&capture, None, digest)
                    .map(|prepared| (digest, prepared))
            };
            match self.in_pool(prepare).await?? {
                (_, Prepared::Ready(ready)) => return self.submit(*ready, pass).await,
                (hashed, Prepared::Wait(end)) => {
                    digest = Some(hashed);
                    end.wait().await;
                }
            }
        }
    }

    /// Records an answer 304, which keeps the digest it names; returns when it is durable. A digest that is not in this store is
    /// refused: the page must be fetched again without validators.
    pub async fn put_unmodified(&self, capture: UnmodifiedCapture) -> Result<Put, PutError> {
        capture.check()?;
        let pass = self
            .0
            .gate
            .enter(headers_size_bytes(&capture.headers))
            .await?;
        let capture = Arc::new(capture);
        loop {
            let capture = Arc::clone(&capture);
            match self
                .in_pool(move |preparer| preparer.unmodified(&capture))
                .await??
            {
                Prepared::Ready(ready) => return self.submit(*ready, pass).await,
                Prepared::Wait(end) => end.wait().await,
            }
        }
    }

    /// Runs what costs a core in the runtime's blocking pool, no more at once than there are cores.
    async fn in_pool<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Preparer) -> T + Send + 'static,
    ) -> Result<T, PutError> {
        let core = self.0.gate.core().await?;
        let store = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let outcome = work(&store.0.preparer);
            drop(core);
            outcome
        });
        match done.await {
            Ok(outcome) => Ok(outcome),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(PutError::Closed),
        }
    }

    /// Refuses what cannot be stored, whatever its payload is.
    fn check(&self, capture: &Capture, size_bytes: u64) -> Result<(), PutError> {
        capture.check()?;
        let max_bytes = self.0.payload_max_size_bytes;
        if size_bytes > max_bytes {
            return Err(PutError::TooLarge {
                size_bytes,
                max_bytes,
            });
        }
        Ok(())
    }

    async fn submit(&self, record: ReadyRecord, pass: Pass) -> Result<Put, PutError> {
        let digest = record.digest;
        let outcome = if record.record_type == RecordType::Response {
            Outcome::Stored
        } else {
            Outcome::Duplicate
        };
        let (reply, answer) = oneshot::channel();
        let requests = self.0.requests.as_ref().ok_or(PutError::Closed)?;
        requests
            .send(Request {
                record,
                pass,
                reply,
            })
            .map_err(|_| PutError::Closed)?;
        let place = answer.await.map_err(|_| PutError::Closed)??;
        Ok(Put {
            digest,
            outcome,
            place,
        })
    }
}

fn settings(options: &StoreOptions, store_id: [u8; 16]) -> JournalSettings {
    JournalSettings {
        dir: options.dir.clone(),
        segment_max_size_bytes: options.segment_max_size_bytes,
        min_free_bytes: options.min_free_bytes,
        index_flush_size_bytes: options.index_flush_size_bytes,
        index_flush_interval: Duration::from_millis(options.index_flush_interval_ms),
        compression_level: options.compression_level,
        software: options.software.clone(),
        store_id,
    }
}

fn headers_size_bytes(headers: &[(String, Vec<u8>)]) -> u64 {
    headers
        .iter()
        .map(|(name, value)| (name.len() + value.len()) as u64)
        .sum()
}

impl std::fmt::Debug for PageStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageStore")
            .field("dir", &self.0.dir)
            .finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The writer ends when it has answered all that wait.
        self.requests = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!(dir = %self.dir.display(), "the page store's writer panicked");
        }
        if let Err(error) = self.index.flush() {
            tracing::warn!(%error, "cannot flush the page index; the next opening reads more");
        }
    }
}

#[cfg(test)]
mod tests;
