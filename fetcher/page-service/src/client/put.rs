//! One put, as its sender sees it.

use std::convert::Infallible;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use page_store::Put;
use pb::put_request::Part;
use pb::put_response::Answer;
use proto::store_v1 as pb;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::StoreClient;
use crate::limits::{CHUNK_SIZE_BYTES, STREAM_MESSAGES, transfer_timeout};
use crate::{Parcel, StoreCallError, wire};

impl StoreClient {
    /// Stores a capture whose payload has this digest; returns when it is durable there. The bytes are sent only when the store
    /// asks for them, deflated where that helps. If the future is dropped the capture may be stored or not; putting it again is
    /// safe.
    pub async fn put(&self, parcel: &Parcel) -> Result<Put, StoreCallError> {
        let (capture, digest) = (parcel.capture(), parcel.digest());
        // What passes this fits a message, so that no capture is taken for a broken connection.
        capture
            .check()
            .map_err(|error| StoreCallError::invalid(error.to_string()))?;
        let (parts, stream) = mpsc::channel(STREAM_MESSAGES);
        let head = Part::Head(wire::put_head(capture, &digest, self.store_id));
        // The channel is empty and open: this neither waits nor fails.
        let _ = parts.send(pb::PutRequest { part: Some(head) }).await;
        let by = Instant::now() + std::time::Duration::from_millis(self.options.answer_timeout_ms);
        let mut grpc = self.grpc.clone();
        let call = grpc.put(ReceiverStream::new(stream));
        let mut answers = timeout_at(by, call)
            .await
            .map_err(|_| self.late(self.options.answer_timeout_ms))??
            .into_inner();
        match self.next_answer(&mut answers, by).await? {
            Answer::Stored(stored) => return Ok(wire::put(&stored, digest)),
            Answer::Wanted(_) => {}
        }
        let deflated = parcel.deflated().await;
        let by = Instant::now() + transfer_timeout(capture.payload.len() as u64);
        let send = async {
            match deflated {
                Some(deflated) => self.send(parts, deflated.bytes(), Part::Deflated).await,
                None => self.send(parts, &capture.payload, Part::Chunk).await,
            }
        };
        let stored = tokio::select! {
            // First: a store that refuses half-way is heard.
            biased;
            answer = self.next_answer(&mut answers, by) => answer?,
            never = send => match never {},
        };
        match stored {
            Answer::Stored(stored) => Ok(wire::put(&stored, digest)),
            Answer::Wanted(_) => Err(self.nonsense()),
        }
    }

    /// Sends all chunks, closes this side, and then leaves it to the answer to end the put.
    async fn send(
        &self,
        parts: mpsc::Sender<pb::PutRequest>,
        payload: &Bytes,
        part: fn(Bytes) -> Part,
    ) -> Infallible {
        for from in (0..payload.len()).step_by(CHUNK_SIZE_BYTES) {
            let chunk = payload.slice(from..payload.len().min(from + CHUNK_SIZE_BYTES));
            let size_bytes = chunk.len() as u64;
            let part = pb::PutRequest {
                part: Some(part(chunk)),
            };
            if parts.send(part).await.is_err() {
                break;
            }
            self.sent_payload_bytes
                .fetch_add(size_bytes, Ordering::Relaxed);
        }
        drop(parts);
        std::future::pending().await
    }

    async fn next_answer(
        &self,
        answers: &mut Streaming<pb::PutResponse>,
        by: Instant,
    ) -> Result<Answer, StoreCallError> {
        let waited_from = Instant::now();
        let message = timeout_at(by, answers.message()).await.map_err(|_| {
            self.late(u64::try_from(waited_from.elapsed().as_millis()).unwrap_or(0))
        })??;
        let ended = || StoreCallError::no_answer(format!("{} ended the put", self.address));
        message
            .ok_or_else(ended)?
            .answer
            .ok_or_else(|| self.nonsense())
    }
}
