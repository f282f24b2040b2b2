//! One page read, checked, and sent in chunks.

use std::sync::Arc;
use std::time::Duration;

use page_store::Page;
use pb::get_response::Part;
use proto::store_v1 as pb;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::{Shared, blocking};
use crate::limits::{ANSWER_TIMEOUT_MS, CHUNK_SIZE_BYTES, STREAM_MESSAGES, transfer_timeout};
use crate::{StoreCallError, wire};

type Parts = mpsc::Sender<Result<pb::GetResponse, Status>>;

/// The parts of a page; nothing is sent of one that is unknown or damaged.
pub(super) async fn serve(
    shared: &Arc<Shared>,
    request: pb::GetRequest,
) -> Result<ReceiverStream<Result<pb::GetResponse, Status>>, StoreCallError> {
    shared.check_id(request.store_id)?;
    let digest = wire::digest(&request.digest)?;
    let open = enter(shared).await?;
    let store = Arc::clone(&shared.store);
    let page = blocking(move || store.get(&digest)?.ok_or(StoreCallError::UnknownDigest)).await?;
    let (parts, stream) = mpsc::channel(STREAM_MESSAGES);
    let store_id = shared.store_id;
    let part_timeout = Duration::from_millis(shared.options.part_timeout_ms);
    tokio::spawn(async move {
        // A reader that is gone, takes nothing more or takes too long ends it.
        let whole = transfer_timeout(page.payload.len() as u64);
        let _ = timeout(whole, send(&page, store_id, &parts, part_timeout)).await;
        drop(open);
    });
    Ok(ReceiverStream::new(stream))
}

/// Room for one more payload in memory.
async fn enter(shared: &Shared) -> Result<OwnedSemaphorePermit, StoreCallError> {
    let entering = Arc::clone(&shared.gets).acquire_owned();
    match timeout(Duration::from_millis(ANSWER_TIMEOUT_MS / 2), entering).await {
        Ok(Ok(open)) => Ok(open),
        _ => Err(Shared::busy(
            "open_gets",
            shared.options.open_gets_max_count,
        )),
    }
}

async fn send(page: &Page, store_id: u32, parts: &Parts, part_timeout: Duration) -> Option<()> {
    let head = Part::Head(wire::page_head(page, store_id));
    let chunks = (0..page.payload.len())
        .step_by(CHUNK_SIZE_BYTES)
        .map(|from| {
            let end = page.payload.len().min(from + CHUNK_SIZE_BYTES);
            Part::Chunk(page.payload.slice(from..end))
        });
    for part in std::iter::once(head).chain(chunks) {
        let sending = parts.send(Ok(pb::GetResponse { part: Some(part) }));
        timeout(part_timeout, sending).await.ok()?.ok()?;
    }
    Some(())
}
