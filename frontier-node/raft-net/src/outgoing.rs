//! The messages of one stream on their way out.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;

/// A stream of messages until it ends or is told to. A type of its own, since the compiler cannot follow the lifetime of a
/// boxed stream through the generated client.
pub(crate) struct Outgoing<T>(BoxStream<'static, T>);

impl<T: Send + 'static> Outgoing<T> {
    pub(crate) fn new(
        messages: impl Stream<Item = T> + Send + 'static,
        ended: CancellationToken,
    ) -> Self {
        Self(messages.take_until(ended.cancelled_owned()).boxed())
    }
}

impl<T> Stream for Outgoing<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_next_unpin(context)
    }
}
