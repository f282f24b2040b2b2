//! What reqwest asks us while it connects. The answers are set for each request in a task-local: without them nothing is
//! connected to. (With an empty pool reqwest connects inside the request's own task.)

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Notify;
use tower::{Layer, Service};

use crate::contact::ContactTrace;
use crate::deadline::{BootInstant, Deadline};

tokio::task_local! {
    static CONNECTING: Arc<Connecting>;
}

/// One request's connection.
pub(super) struct Connecting {
    /// The vetted addresses: what was checked is what is connected to (case I2).
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) deadline: Deadline,
    pub(super) trace: ContactTrace,
    pub(super) connected: Notify,
}

/// Runs a request with these answers.
pub(super) async fn scope<F: Future>(connecting: Arc<Connecting>, request: F) -> F::Output {
    CONNECTING.scope(connecting, request).await
}

/// The connection was asked for outside of a request, or past its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ConnectRefusal {
    #[error("no vetted address")]
    Unvetted,
    #[error("the deadline passed")]
    Fenced,
}

/// Answers with the addresses that were vetted for this request, whatever the name.
pub(super) struct Pinned;

impl Resolve for Pinned {
    fn resolve(&self, _name: Name) -> Resolving {
        let pinned = CONNECTING.try_with(|connecting| connecting.addresses.clone());
        Box::pin(async move {
            let addresses = pinned.map_err(|_| ConnectRefusal::Unvetted)?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Wraps reqwest's connector: stamps the connection, and lets none be used past the deadline.
#[derive(Clone)]
pub(super) struct Fence;

impl<S> Layer<S> for Fence {
    type Service = Fenced<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Fenced(inner)
    }
}

/// See [`Fence`].
#[derive(Clone)]
pub(super) struct Fenced<S>(S);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl<S, D> Service<D> for Fenced<S>
where
    S: Service<D, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, destination: D) -> Self::Future {
        let connecting = CONNECTING.try_with(Arc::clone);
        let connection = self.0.call(destination);
        Box::pin(async move {
            let connecting = connecting.map_err(|_| ConnectRefusal::Unvetted)?;
            if connecting.deadline.passed(BootInstant::now()) {
                return Err(ConnectRefusal::Fenced.into());
            }
            connecting.trace.start();
            let connection = connection.await?;
            // A machine that slept through the handshake must not write the request now.
            if connecting.deadline.passed(BootInstant::now()) {
                return Err(ConnectRefusal::Fenced.into());
            }
            connecting.trace.connect();
            connecting.connected.notify_one();
            Ok(connection)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    /// A connector that counts, and takes as long as it is told.
    #[derive(Clone)]
    struct Connector(Arc<std::sync::atomic::AtomicUsize>, u64);

    impl Service<()> for Connector {
        type Response = &'static str;
        type Error = BoxError;
        type Future = Pin<Box<dyn Future<Output = Result<&'static str, BoxError>> + Send>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, (): ()) -> Self::Future {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let takes = std::time::Duration::from_millis(self.1);
            Box::pin(async move {
                tokio::time::sleep(takes).await;
                Ok("connected")
            })
        }
    }

    fn connecting(deadline: Deadline) -> Arc<Connecting> {
        Arc::new(Connecting {
            addresses: Vec::new(),
            deadline,
            trace: ContactTrace::default(),
            connected: Notify::new(),
        })
    }

    fn refusal<T>(result: Result<T, BoxError>) -> Option<ConnectRefusal> {
        result
            .err()
            .and_then(|error| error.downcast_ref::<ConnectRefusal>().copied())
    }

    #[tokio::test]
    async fn no_request_is_written_after_the_deadline() {
        let now = BootInstant::now();
        for (deadline, takes_ms, starts, refused) in [
            (now.plus_ms(60_000), 0, true, None),
            (now, 0, false, Some(ConnectRefusal::Fenced)),
            // The deadline passes while the connection is made: it is not used.
            (now.plus_ms(150), 400, true, Some(ConnectRefusal::Fenced)),
        ] {
            let connecting = connecting(Deadline::at(deadline));
            let mut fenced = Fence.layer(Connector(Arc::default(), takes_ms));
            let result = scope(Arc::clone(&connecting), async { fenced.call(()).await }).await;
            let contact = connecting.trace.get();
            assert_eq!(
                (contact.started.is_some(), contact.connected.is_some()),
                (starts, refused.is_none())
            );
            assert_eq!(refusal(result), refused);
        }
    }

    #[tokio::test]
    async fn nothing_is_connected_outside_of_a_request() {
        let result = Fence.layer(Connector(Arc::default(), 0)).call(()).await;
        assert_eq!(refusal(result), Some(ConnectRefusal::Unvetted));
        let resolved = Pinned.resolve("a.example".parse().unwrap()).await;
        assert_eq!(refusal(resolved), Some(ConnectRefusal::Unvetted));
    }
}
