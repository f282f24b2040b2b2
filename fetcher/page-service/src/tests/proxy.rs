//! A TCP proxy that counts, hangs, corrupts and dies on order: the network between a caller and a store.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// What happens to the bytes.
#[derive(Default)]
struct Orders {
    /// Accept and read, and pass nothing on.
    hangs: AtomicBool,
    /// The first byte of this text, met on its way to the store, is changed.
    changes: Mutex<Option<Vec<u8>>>,
    /// Bytes from callers.
    received_bytes: AtomicU64,
    connections: AtomicU64,
}

/// See the module.
pub(super) struct Proxy {
    address: SocketAddr,
    behind: SocketAddr,
    orders: Arc<Orders>,
    alive: Mutex<CancellationToken>,
}

impl Proxy {
    pub(super) async fn start(behind: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            address: listener.local_addr().unwrap(),
            behind,
            orders: Arc::default(),
            alive: Mutex::default(),
        };
        proxy.listen(listener);
        proxy
    }

    fn listen(&self, listener: TcpListener) {
        let (orders, behind) = (Arc::clone(&self.orders), self.behind);
        let alive = self.alive.lock().clone();
        tokio::spawn(async move {
            while let Some(Ok((near, _))) = alive.run_until_cancelled(listener.accept()).await {
                orders.connections.fetch_add(1, Ordering::SeqCst);
                let (orders, alive) = (Arc::clone(&orders), alive.clone());
                tokio::spawn(async move {
                    let passing = pass(near, behind, &orders);
                    alive.run_until_cancelled(passing).await;
                });
            }
        });
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn received_bytes(&self) -> u64 {
        self.orders.received_bytes.load(Ordering::SeqCst)
    }

    pub(super) fn connections(&self) -> u64 {
        self.orders.connections.load(Ordering::SeqCst)
    }

    pub(super) fn hang(&self, hangs: bool) {
        self.orders.hangs.store(hangs, Ordering::SeqCst);
    }

    pub(super) fn change(&self, text: &[u8]) {
        *self.orders.changes.lock() = Some(text.to_vec());
    }

    /// As if the process were killed: all connections break, new ones are refused.
    pub(super) fn kill(&self) {
        self.alive.lock().cancel();
    }

    /// As if it were started again.
    pub(super) async fn revive(&self) {
        let listener = loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        *self.alive.lock() = CancellationToken::new();
        self.listen(listener);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn pass(near: TcpStream, behind: SocketAddr, orders: &Orders) {
    let Ok(far) = TcpStream::connect(behind).await else {
        return;
    };
    near.set_nodelay(true).unwrap();
    far.set_nodelay(true).unwrap();
    let (mut near_in, mut near_out) = near.into_split();
    let (mut far_in, mut far_out) = far.into_split();
    let there = async {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(count @ 1..) = near_in.read(&mut bytes).await {
            orders
                .received_bytes
                .fetch_add(count as u64, Ordering::SeqCst);
            if orders.hangs.load(Ordering::SeqCst) {
                continue;
            }
            change(&mut bytes[..count], &orders.changes);
            if far_out.write_all(&bytes[..count]).await.is_err() {
                break;
            }
        }
    };
    let back = async {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(count @ 1..) = far_in.read(&mut bytes).await {
            if orders.hangs.load(Ordering::SeqCst) {
                continue;
            }
            if near_out.write_all(&bytes[..count]).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = there => {}
        () = back => {}
    }
}

fn change(bytes: &mut [u8], changes: &Mutex<Option<Vec<u8>>>) {
    let mut changes = changes.lock();
    let Some(text) = changes.as_ref() else {
        return;
    };
    let found = bytes
        .windows(text.len())
        .position(|window| window == &text[..]);
    if let Some(at) = found {
        bytes[at] ^= 1;
        *changes = None;
    }
}
