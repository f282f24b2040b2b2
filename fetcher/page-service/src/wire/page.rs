//! Pages on their way from a store.

use bytes::{Bytes, BytesMut};
use page_store::limits::PAYLOAD_HARD_MAX_SIZE_BYTES;
use page_store::{Digest, Page};
use proto::store_v1 as pb;

use super::{header_list, headers, truncated, truncated_message};
use crate::StoreCallError;

/// A page's head.
pub(crate) fn page_head(page: &Page, store_id: u32) -> pb::PageHead {
    pb::PageHead {
        store_id,
        payload_size_bytes: page.payload.len() as u64,
        url: page.url.clone(),
        captured_at_unix_ms: page.captured_at_unix_ms,
        status: u32::from(page.status),
        headers: headers(&page.headers),
        truncated: truncated_message(page.truncated).into(),
    }
}

/// A page that arrives in parts.
pub(crate) struct PageParts {
    head: pb::PageHead,
    payload: BytesMut,
}

impl PageParts {
    /// Begins with its head.
    pub(crate) fn new(head: pb::PageHead) -> Result<Self, StoreCallError> {
        let size_bytes = head.payload_size_bytes;
        if size_bytes > PAYLOAD_HARD_MAX_SIZE_BYTES {
            return Err(StoreCallError::OverLimit {
                limit: "payload_size_bytes".to_owned(),
                value: size_bytes,
                max: PAYLOAD_HARD_MAX_SIZE_BYTES,
                retry_after_ms: 0,
            });
        }
        let payload = BytesMut::with_capacity(usize::try_from(size_bytes).unwrap_or(0));
        Ok(Self { head, payload })
    }

    /// The size that was said.
    pub(crate) const fn size_bytes(&self) -> u64 {
        self.head.payload_size_bytes
    }

    /// Adds the next chunk.
    pub(crate) fn push(&mut self, chunk: &Bytes) -> Result<(), StoreCallError> {
        if (self.payload.len() + chunk.len()) as u64 > self.head.payload_size_bytes {
            return Err(damaged("more bytes came than were said"));
        }
        self.payload.extend_from_slice(chunk);
        Ok(())
    }

    /// The page, if it is the one that was asked for.
    pub(crate) fn finish(self, wanted: &Digest) -> Result<Page, StoreCallError> {
        let payload = self.payload.freeze();
        if payload.len() as u64 != self.head.payload_size_bytes {
            return Err(damaged("fewer bytes came than were said"));
        }
        if Digest::of(&payload) != *wanted {
            return Err(damaged("the bytes changed on their way"));
        }
        let status =
            u16::try_from(self.head.status).map_err(|_| damaged("a status that is none"))?;
        Ok(Page {
            payload,
            headers: header_list(self.head.headers),
            status,
            url: self.head.url,
            captured_at_unix_ms: self.head.captured_at_unix_ms,
            truncated: truncated(self.head.truncated),
        })
    }
}

fn damaged(reason: &str) -> StoreCallError {
    StoreCallError::Damaged {
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn page() -> Page {
        Page {
            payload: Bytes::from_static(b"hello"),
            headers: vec![("Content-Length".to_owned(), b"5".to_vec())],
            status: 200,
            url: "http://a.example/".to_owned(),
            captured_at_unix_ms: 5,
            truncated: None,
        }
    }

    fn arrive(head: pb::PageHead, chunks: &[&'static str]) -> Result<Page, StoreCallError> {
        let mut parts = PageParts::new(head)?;
        for chunk in chunks {
            parts.push(&Bytes::from_static(chunk.as_bytes()))?;
        }
        parts.finish(&Digest::of(b"hello"))
    }

    #[test]
    fn a_page_arrives_whole_or_not_at_all() {
        let head = page_head(&page(), 3);
        assert_eq!(arrive(head.clone(), &["he", "llo"]), Ok(page()));
        for wrong in [&["hell"][..], &["hello", "!"], &["hellO"]] {
            let refused = arrive(head.clone(), wrong);
            assert!(
                matches!(refused, Err(StoreCallError::Damaged { .. })),
                "{wrong:?}"
            );
        }
        let huge = pb::PageHead {
            payload_size_bytes: u64::MAX,
            ..head
        };
        assert!(matches!(
            arrive(huge, &[]),
            Err(StoreCallError::OverLimit { .. })
        ));
    }
}
