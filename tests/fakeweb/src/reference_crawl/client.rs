//! One request on one connection.

use std::io::Read;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::header::HeaderMap;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// An answer, its content codings undone.
pub(crate) struct Fetched {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Whether the body came to its end.
    pub(crate) whole: bool,
}

impl Fetched {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    }
}

/// Fetches a canonical URL from `addr`, with further header lines.
pub(crate) async fn fetch(addr: SocketAddr, url: &str, lines: &[(&str, &str)]) -> Fetched {
    let (host, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let stream = TcpStream::connect(addr).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    let driver = tokio::spawn(connection);
    let mut request = Request::get(format!("/{path}")).header("host", host);
    if !lines.iter().any(|(name, _)| *name == "accept-encoding") {
        request = request.header("accept-encoding", "gzip, deflate;q=0.5");
    }
    for (name, value) in lines {
        request = request.header(*name, *value);
    }
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    let (head, mut incoming) = sender.send_request(request).await.unwrap().into_parts();
    let (mut raw, mut whole) = (Vec::new(), true);
    while let Some(frame) = incoming.frame().await {
        match frame {
            Ok(frame) => raw.extend_from_slice(&frame.into_data().unwrap_or_default()),
            Err(_) => {
                whole = false;
                break;
            }
        }
    }
    driver.abort();
    let coding = head
        .headers
        .get("content-encoding")
        .map(|coding| coding.to_str().unwrap().to_owned());
    let mut body = Vec::new();
    match coding.as_deref() {
        Some("gzip") => drop(
            flate2::read::GzDecoder::new(raw.as_slice())
                .read_to_end(&mut body)
                .unwrap(),
        ),
        Some("deflate") => drop(
            flate2::read::ZlibDecoder::new(raw.as_slice())
                .read_to_end(&mut body)
                .unwrap(),
        ),
        _ => body = raw,
    }
    Fetched {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
        whole,
    }
}
