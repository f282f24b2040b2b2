//! A stretch of network that can go silent: it takes connections and bytes and passes nothing on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes connections on to one address.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    silent: watch::Sender<bool>,
    pub(super) accepted: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    pub(super) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (silent, seen) = watch::channel(false);
        let accepted: Arc<AtomicU64> = Arc::default();
        let count = Arc::clone(&accepted);
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(pass(near, target, seen.clone()));
            }
        });
        Self {
            address,
            silent,
            accepted,
            task,
        }
    }

    /// Swallows everything from now on, or passes on again what comes over new connections.
    pub(super) fn silence(&self, silent: bool) {
        self.silent.send_replace(silent);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(near: TcpStream, target: SocketAddr, silent: watch::Receiver<bool>) {
    let Ok(far) = TcpStream::connect(target).await else {
        return;
    };
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let there = copy(near_in, far_out, silent.clone());
    let back = copy(far_in, near_out, silent);
    tokio::join!(there, back);
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, silent: watch::Receiver<bool>) {
    let mut buffer = vec![0; 64 * 1024];
    let mut swallows = false;
    while let Ok(size_bytes) = from.read(&mut buffer).await
        && size_bytes > 0
    {
        // What was once swallowed leaves a gap, so the connection stays dumb.
        swallows |= *silent.borrow();
        if !swallows && to.write_all(&buffer[..size_bytes]).await.is_err() {
            return;
        }
    }
    if swallows {
        std::future::pending::<()>().await;
    }
}
