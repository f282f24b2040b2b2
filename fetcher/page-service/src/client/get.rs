//! One page, read from afar and checked here.

use page_store::{Digest, Page};
use pb::get_response::Part;
use proto::store_v1 as pb;
use tokio::time::{Instant, timeout_at};

use super::StoreClient;
use crate::limits::{INLINE_HASH_SIZE_BYTES, transfer_timeout};
use crate::wire::PageParts;
use crate::{StoreCallError, wire};

impl StoreClient {
    /// Reads a payload and verifies it; [`StoreCallError::UnknownDigest`] if it is not there.
    pub async fn get(&self, digest: &Digest) -> Result<Page, StoreCallError> {
        let request = pb::GetRequest {
            store_id: self.store_id,
            digest: wire::digest_bytes(digest),
        };
        let mut grpc = self.grpc.clone();
        let mut messages = self.answer(grpc.get(request)).await?;
        let head = self
            .within(self.options.answer_timeout_ms, messages.message())
            .await?;
        let Some(Part::Head(head)) = head.and_then(|message| message.part) else {
            return Err(self.nonsense());
        };
        let mut page = PageParts::new(head)?;
        let by = Instant::now() + transfer_timeout(page.size_bytes());
        let part_timeout_ms = self.options.part_timeout_ms;
        let next = async {
            while let Some(message) = self.within(part_timeout_ms, messages.message()).await? {
                let Some(Part::Chunk(chunk)) = message.part else {
                    return Err(self.nonsense());
                };
                page.push(&chunk)?;
            }
            Ok(())
        };
        timeout_at(by, next)
            .await
            .map_err(|_| self.late(part_timeout_ms))??;
        finish(page, *digest).await
    }
}

/// Hashes off the async threads what takes a while.
async fn finish(page: PageParts, digest: Digest) -> Result<Page, StoreCallError> {
    if page.size_bytes() <= INLINE_HASH_SIZE_BYTES as u64 {
        return page.finish(&digest);
    }
    tokio::task::spawn_blocking(move || page.finish(&digest))
        .await
        .unwrap_or_else(|error| Err(StoreCallError::no_answer(error.to_string())))
}
