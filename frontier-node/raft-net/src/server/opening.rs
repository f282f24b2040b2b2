//! The first message of a stream, and the rest of it up to what is refused.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use parking_lot::Mutex;
use tokio::time::timeout;
use tonic::{Status, Streaming};

use crate::limits::STREAM_OPEN;

/// The message that opens a stream.
pub(super) async fn first<T>(inbound: &mut Streaming<T>) -> Result<T, Status> {
    let message = timeout(STREAM_OPEN, inbound.message())
        .await
        .map_err(|_| Status::deadline_exceeded("the stream was not opened in time"))?;
    message?.ok_or_else(|| Status::invalid_argument("the stream is empty"))
}

/// Why a stream was cut short, for its answer. None: it was not.
pub(super) type Refusal = Arc<Mutex<Option<Status>>>;

/// The payloads that follow, up to the end, the first that `open` refuses, or a pause longer than `patience`.
pub(super) fn payloads<T, F>(
    inbound: Streaming<T>,
    patience: Option<Duration>,
    refusal: Refusal,
    open: F,
) -> BoxStream<'static, Bytes>
where
    T: Send + 'static,
    F: Fn(T) -> Result<Bytes, Status> + Send + 'static,
{
    let state = (inbound, open, refusal);
    stream::unfold(state, move |(mut inbound, open, refusal)| async move {
        let message = match patience {
            None => inbound.message().await,
            Some(patience) => timeout(patience, inbound.message())
                .await
                .unwrap_or_else(|_| Err(Status::deadline_exceeded("nothing came for too long"))),
        };
        let payload = match message {
            Ok(None) => return None,
            Ok(Some(message)) => open(message),
            Err(status) => Err(status),
        };
        match payload {
            Ok(payload) => Some((payload, (inbound, open, refusal))),
            Err(status) => {
                *refusal.lock() = Some(status);
                None
            }
        }
    })
    .boxed()
}
