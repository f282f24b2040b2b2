//! Captures on their way to a store.

use bytes::Bytes;
use page_store::{Announcement, Capture, Digest, UnmodifiedCapture};
use proto::store_v1 as pb;

use super::{digest, digest_bytes, header_list, headers, truncated, truncated_message};
use crate::StoreCallError;

/// A capture's head.
pub(crate) fn put_head(capture: &Capture, digest: &Digest, store_id: u32) -> pb::PutHead {
    pb::PutHead {
        store_id,
        digest: digest_bytes(digest),
        payload_size_bytes: capture.payload.len() as u64,
        url: capture.url.clone(),
        captured_at_unix_ms: capture.captured_at_unix_ms,
        protocol: capture.protocol.clone(),
        status: u32::from(capture.status),
        reason: capture.reason.clone(),
        headers: headers(&capture.headers),
        peer_addr: capture
            .peer_addr
            .map(|addr| addr.to_string())
            .unwrap_or_default(),
        truncated: truncated_message(capture.truncated).into(),
    }
}

/// A head that arrived.
pub(crate) fn announcement(head: pb::PutHead) -> Result<Announcement, StoreCallError> {
    let peer_addr = match head.peer_addr.as_str() {
        "" => None,
        addr => Some(
            addr.parse()
                .map_err(|_| StoreCallError::invalid("peer_addr is not ip:port"))?,
        ),
    };
    let status = u16::try_from(head.status)
        .map_err(|_| StoreCallError::invalid(format!("status {}", head.status)))?;
    Ok(Announcement {
        digest: digest(&head.digest)?,
        payload_size_bytes: head.payload_size_bytes,
        capture: Capture {
            url: head.url,
            captured_at_unix_ms: head.captured_at_unix_ms,
            protocol: head.protocol,
            status,
            reason: head.reason,
            headers: header_list(head.headers),
            peer_addr,
            payload: Bytes::new(),
            truncated: truncated(head.truncated),
        },
    })
}

/// An answer 304 for the wire.
pub(crate) fn unmodified_request(
    capture: &UnmodifiedCapture,
    store_id: u32,
) -> pb::PutUnmodifiedRequest {
    pb::PutUnmodifiedRequest {
        store_id,
        digest: digest_bytes(&capture.digest),
        url: capture.url.clone(),
        captured_at_unix_ms: capture.captured_at_unix_ms,
        headers: headers(&capture.headers),
    }
}

/// An answer 304 that arrived.
pub(crate) fn unmodified(
    request: pb::PutUnmodifiedRequest,
) -> Result<UnmodifiedCapture, StoreCallError> {
    Ok(UnmodifiedCapture {
        digest: digest(&request.digest)?,
        url: request.url,
        captured_at_unix_ms: request.captured_at_unix_ms,
        headers: header_list(request.headers),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use page_store::Truncated;

    fn capture() -> Capture {
        Capture {
            url: "https://a.example/".to_owned(),
            captured_at_unix_ms: 1_790_000_000_123,
            protocol: "h2".to_owned(),
            status: 206,
            reason: "Partial".to_owned(),
            headers: vec![
                ("Set-Cookie".to_owned(), vec![0xff, b'a']),
                ("Set-Cookie".to_owned(), b"b".to_vec()),
            ],
            peer_addr: Some("[::1]:80".parse().unwrap()),
            payload: Bytes::from_static(b"body"),
            truncated: Some(Truncated::Disconnect),
        }
    }

    #[test]
    fn a_capture_arrives_as_it_was_sent_but_for_its_payload() {
        for truncated in [
            None,
            Some(Truncated::Length),
            Some(Truncated::Time),
            Some(Truncated::Disconnect),
            Some(Truncated::Unspecified),
        ] {
            let sent = Capture {
                truncated,
                ..capture()
            };
            let digest = Digest::of(&sent.payload);
            let arrived = announcement(put_head(&sent, &digest, 7)).unwrap();
            assert_eq!((arrived.digest, arrived.payload_size_bytes), (digest, 4));
            let bare = Capture {
                payload: Bytes::new(),
                ..sent
            };
            assert_eq!(format!("{:?}", arrived.capture), format!("{bare:?}"));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let head = put_head(&capture(), &Digest::of(b"body"), 7);
        let wrong = [
            pb::PutHead {
                digest: Bytes::from_static(b"short"),
                ..head.clone()
            },
            pb::PutHead {
                status: 70_000,
                ..head.clone()
            },
            pb::PutHead {
                peer_addr: "nowhere".to_owned(),
                ..head.clone()
            },
        ];
        for head in wrong {
            assert!(matches!(
                announcement(head),
                Err(StoreCallError::Invalid { .. })
            ));
        }
        let future = pb::PutHead {
            truncated: 99,
            ..head
        };
        assert_eq!(
            announcement(future).unwrap().capture.truncated,
            Some(Truncated::Unspecified)
        );
    }
}
