//! A raw HTTP/1.1 server: reads a request's head, then does what the test says, byte for byte.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What is done with a request.
pub(crate) enum Reply {
    /// These bytes, then an orderly close.
    Bytes(Vec<u8>),
    /// The first bytes, then the second ones for ever, without a pause.
    Endless(Vec<u8>, Vec<u8>),
    /// The first bytes, then one byte at a time, so far apart.
    Drip(Vec<u8>, Duration),
    /// These bytes, then nothing, the connection open.
    Hang(Vec<u8>),
    /// These bytes, then a reset.
    Reset(Vec<u8>),
}

/// A running server.
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each request by its target.
    pub(crate) async fn start(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (reply, seen) = (Arc::new(reply), Arc::clone(&heads));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (reply, seen) = (Arc::clone(&reply), Arc::clone(&seen));
                tokio::spawn(async move { serve(stream, &*reply, &seen).await });
            }
        });
        Self { addr, heads }
    }

    /// The same bytes for every request.
    pub(crate) async fn always(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |_| Reply::Bytes(bytes.clone())).await
    }

    /// The heads of requests as they come.
    pub(crate) fn heads_handle(&self) -> Arc<Mutex<Vec<String>>> {
        Arc::clone(&self.heads)
    }

    /// The heads of all requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().clone()
    }

    /// The targets of all requests so far.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.heads()
            .iter()
            .map(|head| target(head).to_owned())
            .collect()
    }
}

fn target(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

async fn serve(
    mut stream: TcpStream,
    reply: &(dyn Fn(&str) -> Reply + Send + Sync),
    seen: &Mutex<Vec<String>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    seen.lock().push(head.clone());
    match reply(target(&head)) {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
            // Wait for the peer, so that no unread byte turns the close into a reset.
            let _ = stream.read(&mut [0; 64]).await;
        }
        Reply::Endless(first, more) => {
            let _ = stream.write_all(&first).await;
            while stream.write_all(&more).await.is_ok() {}
        }
        Reply::Drip(first, pause) => {
            let _ = stream.write_all(&first).await;
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(pause).await;
            }
        }
        Reply::Hang(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.read(&mut [0; 64]).await;
        }
        Reply::Reset(bytes) => {
            let _ = stream.write_all(&bytes).await;
            // Whatever was sent before is read by the peer first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let _ = stream.set_zero_linger();
        }
    }
}

/// A response with these fields and this body, of the right length.
pub(crate) fn response(status: u16, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} X\r\n{fields}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// An HTML page.
pub(crate) fn html(body: &str) -> Vec<u8> {
    response(200, "Content-Type: text/html\r\n", body.as_bytes())
}
