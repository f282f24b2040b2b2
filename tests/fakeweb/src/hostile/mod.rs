//! Servers that break one rule each, written on bare sockets.
//!
//! Each answers `/robots.txt` with a well-formed 404, so that a whole crawler can be led to the trouble at
//! every other path; only [`Kind::EndlessRobots`] and [`Kind::NeverAnswers`] trouble that path too.

mod behaviour;
mod bomb;
mod kind;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub use kind::Kind;

use crate::limits;

/// A hostile server on a free loopback port. Dropping it closes the listener and all connections.
#[derive(Debug)]
pub struct Hostile {
    /// Address it listens on.
    pub addr: SocketAddr,
    kind: Kind,
    counts: Arc<Counts>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Counts {
    connections: AtomicU64,
    requests: AtomicU64,
    written_bytes: AtomicU64,
}

impl Hostile {
    /// Connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.counts.connections.load(Ordering::Acquire)
    }

    /// Request heads read so far, those for `/robots.txt` too.
    pub fn requests(&self) -> u64 {
        self.counts.requests.load(Ordering::Acquire)
    }

    /// Bytes handed to the kernel so far: how much a client was made to take, socket buffers included.
    pub fn written_bytes(&self) -> u64 {
        self.counts.written_bytes.load(Ordering::Acquire)
    }

    /// What it does.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts a hostile server on the current runtime.
pub async fn spawn(kind: Kind) -> io::Result<Hostile> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let addr = listener.local_addr()?;
    let counts = Arc::new(Counts::default());
    let task = tokio::spawn(accept_all(listener, kind, Arc::clone(&counts)));
    Ok(Hostile {
        addr,
        kind,
        counts,
        task,
    })
}

async fn accept_all(listener: TcpListener, kind: Kind, counts: Arc<Counts>) {
    // Its drop, when this task is aborted, ends all connections.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        counts.connections.fetch_add(1, Ordering::AcqRel);
        connections.spawn(live(stream, kind, Arc::clone(&counts)));
        while connections.try_join_next().is_some() {}
    }
}

async fn live(stream: TcpStream, kind: Kind, counts: Arc<Counts>) {
    let life = Duration::from_millis(limits::HOSTILE_LIFE_MS);
    // However it ends, the connection is closed: the client left, or its time is up.
    let _ = tokio::time::timeout(life, behaviour::serve(stream, kind, &counts)).await;
}
