//! TCP connections to one address, with failures that are quick and told apart.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tonic::transport::{Channel, Endpoint, Uri};

use crate::limits::{
    CONNECTION_WINDOW_BYTES, KEEP_ALIVE, KEEP_ALIVE_TIMEOUT, REDIAL_MIN, STREAM_WINDOW_BYTES,
};
use crate::metrics::{Counters, add};

/// Dials one address.
#[derive(Clone)]
pub(crate) struct Dialer {
    address: Arc<str>,
    timeout: Duration,
    counters: Arc<Counters>,
    /// The last failure, which speaks for what is asked right after it: many groups that want the same dead peer at the
    /// same moment wait once, not one after the other.
    failed: Arc<Mutex<Option<(Instant, io::ErrorKind)>>>,
}

impl Dialer {
    pub(crate) fn new(address: &str, timeout: Duration, counters: Arc<Counters>) -> Self {
        Self {
            address: address.into(),
            timeout,
            counters,
            failed: Arc::default(),
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Connects. `ConnectionRefused`: the address answers and nobody listens there. `TimedOut`: nothing answers.
    pub(crate) async fn dial(&self) -> io::Result<TcpStream> {
        add(&self.counters.dials, 1);
        let dialled = tokio::time::timeout(self.timeout, TcpStream::connect(&*self.address)).await;
        let stream = dialled
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .and_then(|stream| stream.set_nodelay(true).map(|()| stream));
        let failure = stream
            .as_ref()
            .err()
            .map(|error| (Instant::now(), error.kind()));
        if failure.is_some() {
            add(&self.counters.dials_failed, 1);
        }
        *self.failed.lock() = failure;
        stream
    }

    /// Connects, unless that failed a moment ago.
    async fn dial_gently(&self) -> io::Result<TcpStream> {
        let failed = *self.failed.lock();
        match failed.and_then(|failed| speaks(failed, Instant::now())) {
            Some(kind) => Err(kind.into()),
            None => self.dial().await,
        }
    }

    /// A channel that connects when it is first used, and again after it broke.
    pub(crate) fn lane(&self) -> Channel {
        let dialer = self.clone();
        endpoint().connect_with_connector_lazy(tower::service_fn(move |_: Uri| {
            let dialer = dialer.clone();
            async move { dialer.dial_gently().await.map(TokioIo::new) }
        }))
    }
}

/// What a failed dial says for a call at `now`.
fn speaks((at, kind): (Instant, io::ErrorKind), now: Instant) -> Option<io::ErrorKind> {
    (now.saturating_duration_since(at) < REDIAL_MIN).then_some(kind)
}

/// A channel over one connection. When that breaks the channel is of no more use.
pub(crate) async fn channel_over(stream: TcpStream) -> Result<Channel, tonic::transport::Error> {
    let mut stream = Some(stream);
    let connector = tower::service_fn(move |_: Uri| {
        let taken = stream.take().map(TokioIo::new);
        std::future::ready(taken.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)))
    });
    endpoint().connect_with_connector(connector).await
}

fn endpoint() -> Endpoint {
    // The name is never resolved: the dialer knows the address.
    Endpoint::from_static("http://replica")
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_closed_port_is_refused_which_speaks_for_the_calls_right_after() {
        let address = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let counters: Arc<Counters> = Arc::default();
        let dialer = Dialer::new(
            &address.to_string(),
            Duration::from_secs(5),
            Arc::clone(&counters),
        );
        let refused = dialer.dial().await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let read = counters.read();
        assert_eq!((read.dials, read.dials_failed), (1, 1));
        let failed = dialer.failed.lock().unwrap();
        assert_eq!(speaks(failed, failed.0), Some(refused.kind()));
        assert_eq!(speaks(failed, failed.0 + REDIAL_MIN), None);
    }
}
