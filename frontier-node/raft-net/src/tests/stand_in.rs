//! A receiver that tests look into: it echoes, unless a group's name says otherwise.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use parking_lot::Mutex;
use raftlog::{CallKind, GroupId, ReplyStream, TransportError};

use crate::server::Inbox;

/// Never answers, and never reads a stream.
pub(super) const STUCK: GroupId = 1_000_001;
/// Is not there.
pub(super) const MISSING: GroupId = 1_000_002;
/// Refuses.
pub(super) const BROKEN: GroupId = 1_000_003;
/// Reads a stream and answers nothing.
pub(super) const MUTE: GroupId = 1_000_004;

/// The last chunk of a whole snapshot.
pub(super) const LAST: &[u8] = b"last";

/// Echoes what arrives.
#[derive(Default)]
pub(super) struct StandIn {
    pub(super) calls: Mutex<Vec<(GroupId, CallKind)>>,
    /// Append streams and snapshots being taken.
    pub(super) open: AtomicU64,
    pub(super) chunks: AtomicU64,
    pub(super) installed: AtomicU64,
    pub(super) broken_off: AtomicU64,
}

fn check(group_id: GroupId) -> Result<(), TransportError> {
    match group_id {
        MISSING => Err(TransportError::NoGroup(MISSING)),
        BROKEN => Err(TransportError::Remote("it is broken".to_owned())),
        _ => Ok(()),
    }
}

#[async_trait::async_trait]
impl Inbox for StandIn {
    async fn call(
        &self,
        group_id: GroupId,
        kind: CallKind,
        request: &[u8],
    ) -> Result<Bytes, TransportError> {
        self.calls.lock().push((group_id, kind));
        check(group_id)?;
        if group_id == STUCK {
            std::future::pending::<()>().await;
        }
        Ok(Bytes::copy_from_slice(request))
    }

    fn append_stream(
        &self,
        group_id: GroupId,
        requests: BoxStream<'static, Bytes>,
    ) -> Result<ReplyStream, TransportError> {
        check(group_id)?;
        match group_id {
            STUCK => {
                // Holds the requests without reading them.
                let held = stream::unfold(requests, |requests| async {
                    std::future::pending::<()>().await;
                    Some((Ok(Bytes::new()), requests))
                });
                Ok(held.boxed())
            }
            MUTE => Ok(requests.filter_map(|_| std::future::ready(None)).boxed()),
            _ => Ok(requests.map(Ok).boxed()),
        }
    }

    async fn snapshot(
        &self,
        group_id: GroupId,
        mut chunks: BoxStream<'static, Bytes>,
    ) -> Result<Bytes, TransportError> {
        check(group_id)?;
        let _guard = Open::new(&self.open);
        if group_id == STUCK {
            std::future::pending::<()>().await;
        }
        let mut last = Bytes::new();
        while let Some(chunk) = chunks.next().await {
            self.chunks.fetch_add(1, Ordering::SeqCst);
            last = chunk;
            if group_id == MUTE {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        if last.as_ref() == LAST {
            self.installed.fetch_add(1, Ordering::SeqCst);
            return Ok(Bytes::from_static(b"installed"));
        }
        self.broken_off.fetch_add(1, Ordering::SeqCst);
        Err(TransportError::Malformed("it broke off".to_owned()))
    }
}

/// Counts what is open, however it ends.
struct Open<'a>(&'a AtomicU64);

impl<'a> Open<'a> {
    fn new(open: &'a AtomicU64) -> Self {
        open.fetch_add(1, Ordering::SeqCst);
        Self(open)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
