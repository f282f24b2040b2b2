//! Response bodies: whole, in chunks, or cut off.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

/// Bytes a chunk has at most.
const CHUNK_BYTES: usize = 4096;
/// Wait before a connection is cut, so that what was sent leaves first.
const CUT_WAIT: Duration = Duration::from_millis(5);

/// A body of a fake response.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    /// Sent with its length.
    Whole(Bytes),
    /// Sent in chunks without a length.
    Chunked(Bytes),
    /// Sent, then the connection is closed; the announced length is larger.
    Cut(Bytes, Option<Pin<Box<Sleep>>>),
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = match self.get_mut() {
            Self::Whole(bytes) => take(bytes, usize::MAX),
            Self::Chunked(bytes) => take(bytes, CHUNK_BYTES),
            Self::Cut(bytes, wait) => {
                if let Some(frame) = take(bytes, usize::MAX) {
                    return Poll::Ready(Some(Ok(frame)));
                }
                let wait = wait.get_or_insert_with(|| Box::pin(tokio::time::sleep(CUT_WAIT)));
                std::task::ready!(wait.as_mut().poll(cx));
                let error =
                    std::io::Error::new(std::io::ErrorKind::ConnectionAborted, "cut on purpose");
                return Poll::Ready(Some(Err(error)));
            }
        };
        Poll::Ready(next.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) | Self::Chunked(bytes) => bytes.is_empty(),
            Self::Cut(..) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Chunked(_) | Self::Cut(..) => SizeHint::default(),
        }
    }
}

fn take(bytes: &mut Bytes, most: usize) -> Option<Frame<Bytes>> {
    let piece = bytes.split_to(bytes.len().min(most));
    (!piece.is_empty()).then(|| Frame::data(piece))
}
