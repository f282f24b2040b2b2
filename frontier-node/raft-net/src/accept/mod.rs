//! Taking connections: so many at once, none that never asks for anything, and a pause when the system has no more files.

mod connection;
mod head;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::limits::{ACCEPT_PAUSE, MAX_CONNECTIONS};
pub use connection::Connection;
pub use head::Speech;

/// Accepts connections of a listener, for ever.
pub struct Acceptor {
    listener: TcpListener,
    speech: Speech,
    /// Free places for connections. While there is none, new ones wait where the system keeps them.
    places: Arc<Semaphore>,
    /// What the log has of the present trouble.
    told: String,
}

impl Acceptor {
    /// For a server of `speech` that holds `most` connections at once.
    pub fn new(listener: TcpListener, speech: Speech, most: usize) -> Self {
        Self {
            listener,
            speech,
            places: Arc::new(Semaphore::new(most.clamp(1, MAX_CONNECTIONS))),
            told: String::new(),
        }
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// What the system answers.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The next connection, without Nagle's delay of small replies.
    pub async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            if self.places.available_permits() == 0 {
                self.tell("all places are taken");
            }
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
                // Never closed.
                return std::future::pending().await;
            };
            match self.listener.accept().await.and_then(undelayed) {
                Ok((stream, peer)) => {
                    self.told.clear();
                    return (Connection::new(stream, self.speech, place), peer);
                }
                // The peer went away again.
                Err(error) if is_of_peer(&error) => {}
                // Without a pause this would go round as fast as it can for as long as there are no files.
                Err(error) => {
                    self.tell(&error.to_string());
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn tell(&mut self, reason: &str) {
        if self.told != reason {
            tracing::warn!(reason, "connections have to wait");
            self.told = reason.to_owned();
        }
    }
}

fn undelayed((stream, peer): (TcpStream, SocketAddr)) -> io::Result<(TcpStream, SocketAddr)> {
    stream.set_nodelay(true)?;
    Ok((stream, peer))
}

fn is_of_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, InvalidInput, NotConnected};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | InvalidInput | NotConnected
    )
}

/// Connections of a gRPC server, [`MAX_CONNECTIONS`] at once.
pub fn incoming(listener: TcpListener) -> BoxStream<'static, io::Result<Connection>> {
    incoming_within(listener, MAX_CONNECTIONS)
}

/// Connections of a gRPC server, `most` at once.
pub fn incoming_within(
    listener: TcpListener,
    most: usize,
) -> BoxStream<'static, io::Result<Connection>> {
    let acceptor = Acceptor::new(listener, Speech::Http2, most);
    stream::unfold(acceptor, |mut acceptor| async move {
        let (connection, _) = acceptor.accept().await;
        Some((Ok(connection), acceptor))
    })
    .boxed()
}
