//! One put, top to bottom: head, perhaps the bytes, the answer when all is durable.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use page_store::{Announced, Deflated};
use pb::put_request::Part;
use pb::put_response::Answer;
use proto::store_v1 as pb;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout_at};
use tonic::{Status, Streaming};

use super::Shared;
use crate::limits::transfer_timeout;
use crate::{StoreCallError, wire};

type Answers = Sender<Result<pb::PutResponse, Status>>;

/// Serves one stream until its answer is sent or nobody waits for it any more. Giving up at any point leaves the store whole, and
/// the digest free for others.
pub(super) async fn serve(shared: &Shared, parts: Streaming<pb::PutRequest>, answers: Answers) {
    let outcome = tokio::select! {
        biased;
        () = answers.closed() => return,
        outcome = put(shared, parts, &answers) => outcome,
    };
    // There is room: two messages are the most. Whoever is gone needs no answer.
    let _ = match outcome {
        Ok(stored) => answers.send(Ok(answer(Answer::Stored(stored)))).await,
        Err(error) => answers.send(Err(error.into())).await,
    };
}

async fn put(
    shared: &Shared,
    mut parts: Streaming<pb::PutRequest>,
    answers: &Answers,
) -> Result<pb::Stored, StoreCallError> {
    let part_timeout = Duration::from_millis(shared.options.part_timeout_ms);
    let Some(Part::Head(head)) = next(&mut parts, Instant::now() + part_timeout).await? else {
        return Err(StoreCallError::invalid("a put begins with its head"));
    };
    shared.check_id(head.store_id)?;
    let announcement = wire::announcement(head)?;
    let patience = Duration::from_millis(shared.options.patience_ms);
    let wanted = match shared.store.announce(announcement, patience).await? {
        Announced::Known(put) => return Ok(wire::stored(&put, shared.store_id)),
        Announced::Wanted(wanted) => wanted,
    };
    let _ = answers
        .send(Ok(answer(Answer::Wanted(pb::Wanted {}))))
        .await;
    let size_bytes = wanted.announcement().payload_size_bytes;
    let (payload, is_deflated) = receive(&mut parts, size_bytes, part_timeout).await?;
    shared
        .received_payload_bytes
        .fetch_add(payload.len() as u64, Ordering::Relaxed);
    let put = if is_deflated {
        let deflated = Deflated::from_bytes(payload);
        shared.store.put_wanted_deflated(*wanted, deflated).await?
    } else {
        shared.store.put_wanted(*wanted, payload).await?
    };
    Ok(wire::stored(&put, shared.store_id))
}

/// All chunks, and whether they are deflated. Plain ones must be as many bytes as were announced, for which room is taken;
/// deflated ones fewer.
async fn receive(
    parts: &mut Streaming<pb::PutRequest>,
    size_bytes: u64,
    part_timeout: Duration,
) -> Result<(Bytes, bool), StoreCallError> {
    let deadline = Instant::now() + transfer_timeout(size_bytes);
    let capacity = usize::try_from(size_bytes)
        .map_err(|_| StoreCallError::invalid("a payload that memory cannot hold"))?;
    let (mut payload, mut is_deflated) = (BytesMut::new(), None);
    let wrong = |received: usize| StoreCallError::NotAsAnnounced {
        reason: format!("{received} bytes came, {size_bytes} were announced"),
    };
    while let Some(part) = next(parts, deadline.min(Instant::now() + part_timeout)).await? {
        let (chunk, deflated) = match part {
            Part::Chunk(chunk) => (chunk, false),
            Part::Deflated(chunk) => (chunk, true),
            Part::Head(_) => return Err(StoreCallError::invalid("a put has one head")),
        };
        if chunk.is_empty() {
            return Err(StoreCallError::invalid("an empty chunk"));
        }
        if *is_deflated.get_or_insert(deflated) != deflated {
            return Err(StoreCallError::invalid(
                "plain and deflated chunks in one put",
            ));
        }
        if !deflated {
            payload.reserve(capacity - payload.len());
        }
        if payload.len() + chunk.len() > capacity {
            return Err(wrong(payload.len() + chunk.len()));
        }
        payload.extend_from_slice(&chunk);
    }
    let is_deflated = is_deflated == Some(true);
    if is_deflated || payload.len() == capacity {
        Ok((payload.freeze(), is_deflated))
    } else {
        Err(wrong(payload.len()))
    }
}

/// The next part, or nothing at the end.
async fn next(
    parts: &mut Streaming<pb::PutRequest>,
    by: Instant,
) -> Result<Option<Part>, StoreCallError> {
    let message =
        timeout_at(by, parts.message())
            .await
            .map_err(|_| StoreCallError::Unavailable {
                reason: "the put's next part did not come in time".to_owned(),
                retry_after_ms: 0,
            })??;
    match message {
        None => Ok(None),
        Some(pb::PutRequest { part: Some(part) }) => Ok(Some(part)),
        Some(pb::PutRequest { part: None }) => {
            Err(StoreCallError::invalid("a part without content"))
        }
    }
}

const fn answer(answer: Answer) -> pb::PutResponse {
    pb::PutResponse {
        answer: Some(answer),
    }
}
