//! TLS and HTTP/2.

use pb::page_outcome::Code;
use proto::frontier_v1 as pb;
use rustls::pki_types::CertificateDer;

use crate::dns::Dns;
use crate::testing::{Alpn, Ran, Rig, ScriptedNames, Server, TlsServer, html};

fn rig(addr: std::net::SocketAddr, roots: &[CertificateDer<'static>]) -> Rig {
    let mut config = Rig::config();
    config.http.resolve = vec![format!("*={addr}").parse().unwrap()];
    Rig::new(config, Dns::new(ScriptedNames::new([])), roots)
}

async fn fetch(server: &TlsServer, url: &str) -> (Rig, Ran) {
    let rig = rig(server.addr, std::slice::from_ref(&server.root));
    let ran = rig.page(url).await;
    (rig, ran)
}

/// One HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Empty settings, and the acknowledgement of the peer's.
fn settings() -> Vec<u8> {
    [frame(4, 0, 0, &[]), frame(4, 1, 0, &[])].concat()
}

/// `:status: 200`, and `content-length` as a literal.
fn head(length: &str) -> Vec<u8> {
    let size = u8::try_from(length.len()).unwrap();
    [&[0x88, 0x0f, 0x0d, size], length.as_bytes()].concat()
}

/// case G20, case I13: the name in TLS and `Host` is the URL's, wherever it is connected to; the scheme stays.
#[tokio::test]
async fn the_name_is_the_urls() {
    let server = TlsServer::start("a.example", Alpn::Silent, html("x"));
    let (_, ran) = fetch(&server, "https://a.example/x").await;
    assert_eq!(ran.code(), (Code::Stored, ""));
    assert_eq!(server.names(1).await, [Some("a.example".to_owned())]);
    // case G19: no ALPN, no HTTP/2.
    assert!(server.requests()[0].starts_with(b"GET /x HTTP/1.1\r\n"));
    let (_, ran) = fetch(&server, "https://a.example:8443/x").await;
    assert_eq!(ran.code(), (Code::Stored, ""));
    assert!(String::from_utf8_lossy(&server.requests()[1]).contains("host: a.example:8443\r\n"));
}

/// case G20: a certificate for another name is an error of its own; no other host is tried.
#[tokio::test]
async fn certificates_must_match() {
    let server = TlsServer::start("e.example", Alpn::Silent, html("x"));
    let (_, ran) = fetch(&server, "https://www.e.example/").await;
    assert_eq!(ran.code(), (Code::NetworkError, "tls_certificate"));
    assert!(!ran.wire().nothing_written);
    assert_eq!(server.names(1).await, [Some("www.e.example".to_owned())]);
    assert!(server.requests().is_empty());
    // Nor is one that nobody vouches for accepted.
    let ran = rig(server.addr, &[]).page("https://e.example/").await;
    assert_eq!(ran.code(), (Code::NetworkError, "tls_certificate"));
}

/// case G20, case D1: a peer that speaks no TLS.
#[tokio::test]
async fn no_tls_at_all() {
    let server = Server::always("HTTP/1.1 200 OK\r\n\r\n").await;
    let hung_up = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = hung_up.local_addr().unwrap();
    tokio::spawn(async move { while hung_up.accept().await.is_ok() {} });
    assert_eq!(
        rig(addr, &[]).page("https://a.example/").await.code(),
        (Code::NetworkError, "tls_handshake")
    );
    let robots = rig(addr, &[]).robots("https://a.example/robots.txt").await;
    assert_eq!(robots.found().code(), pb::robots_found::Code::Unreachable);
    drop(server);
}

#[tokio::test]
async fn http2_is_spoken_where_it_is_agreed() {
    let frames = [
        settings(),
        frame(1, 4, 1, &head("5")),
        frame(0, 1, 1, b"hello"),
    ]
    .concat();
    let server = TlsServer::start("a.example", Alpn::H2, frames);
    let (rig, ran) = fetch(&server, "https://a.example/").await;
    assert_eq!(ran.code(), (Code::Stored, ""));
    let captures = rig.pages.captures.lock();
    assert_eq!(
        (captures[0].protocol.as_str(), captures[0].payload.as_ref()),
        ("h2", b"hello".as_slice())
    );
}

/// case G10: a short body over HTTP/2.
#[tokio::test]
async fn http2_bodies_must_be_whole() {
    let frames = [
        settings(),
        frame(1, 4, 1, &head("100")),
        frame(0, 1, 1, &[b'x'; 60]),
    ]
    .concat();
    let server = TlsServer::start("a.example", Alpn::H2, frames);
    let (rig, ran) = fetch(&server, "https://a.example/").await;
    assert_eq!(ran.page().code(), Code::NetworkError, "{:?}", ran.code());
    assert!(rig.pages.captures.lock().is_empty());
    // Closed in the middle.
    let frames = [
        settings(),
        frame(1, 4, 1, &head("100")),
        frame(0, 0, 1, &[b'x'; 60]),
    ]
    .concat();
    let server = TlsServer::start("a.example", Alpn::H2, frames);
    let (rig, ran) = fetch(&server, "https://a.example/").await;
    assert_eq!(ran.code(), (Code::NetworkError, "incomplete_body"));
    assert!(rig.pages.captures.lock().is_empty());
}

/// case G17: headers that never end, over HTTP/2.
#[tokio::test]
async fn http2_continuation_floods_end() {
    let mut frames = [settings(), frame(1, 0, 1, &[0x88])].concat();
    for _ in 0..3_000 {
        // A literal field, never indexed: name `x`, a value of 100 bytes.
        frames.extend_from_slice(&frame(
            9,
            0,
            1,
            &[&[0x10, 1, b'x', 100], [b'y'; 100].as_slice()].concat(),
        ));
    }
    let server = TlsServer::start("a.example", Alpn::H2, frames);
    let (rig, ran) = fetch(&server, "https://a.example/").await;
    assert_ne!(ran.page().code(), Code::Stored);
    assert!(rig.pages.captures.lock().is_empty());
}
