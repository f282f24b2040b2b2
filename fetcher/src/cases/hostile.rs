//! Servers that mean no good, or are merely broken.

use std::time::Duration;

use pb::page_outcome::Code;
use proto::frontier_v1 as pb;

use crate::testing::{Reply, Rig, Server, response};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";

/// case G16: a drip and an endless stream each end, and say why.
#[tokio::test]
async fn streams_without_end_are_ended() {
    let drip = Server::start(|_| Reply::Drip(OK.to_vec(), Duration::from_millis(20))).await;
    let slow = Rig::with(drip.addr, |config| {
        config.http.min_rate_bytes_per_s = 1_000_000;
        config.http.min_rate_grace_ms = 100;
    });
    let ran = slow.page("http://a.example/").await;
    assert_eq!(ran.code(), (Code::NetworkError, "too_slow"));
    assert!(ran.wire().since_first_byte_ms.is_some());

    let radio = Rig::with(drip.addr, |config| {
        config.http.min_rate_bytes_per_s = 0;
        config.http.fetch_timeout_ms = 400;
    });
    assert_eq!(
        radio.page("http://a.example/").await.code(),
        (Code::NetworkError, "fetch_timeout")
    );

    let flood = Server::start(|_| Reply::Endless(OK.to_vec(), vec![b'x'; 10_000])).await;
    let capped = Rig::with(flood.addr, |config| config.http.max_decoded_bytes = 200_000);
    let ran = capped.page("http://a.example/").await;
    assert_eq!(
        (
            ran.page().code(),
            ran.page().truncated,
            ran.page().payload_size_bytes
        ),
        (Code::Stored, true, 200_000)
    );

    let stall = Server::start(|_| Reply::Hang([OK, b"some".as_slice()].concat())).await;
    assert_eq!(
        Rig::at(stall.addr).page("http://a.example/").await.code(),
        (Code::NetworkError, "idle_timeout")
    );
}

/// case G17: one huge field, and a great many of them.
#[tokio::test]
async fn header_floods_are_refused() {
    let huge = format!(
        "HTTP/1.1 200 OK\r\nX-Big: {}\r\nContent-Length: 0\r\n\r\n",
        "x".repeat(300_000)
    );
    let cookies = format!(
        "HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n",
        "Set-Cookie: a=b\r\n".repeat(10_000)
    );
    // case B23: nothing of it travels into the report.
    let megabyte = format!(
        "HTTP/1.1 200 OK\r\nETag: \"{}\"\r\nContent-Length: 0\r\n\r\n",
        "x".repeat(1_000_000)
    );
    for bytes in [huge, cookies, megabyte] {
        let server = Server::always(bytes).await;
        let ran = Rig::at(server.addr).page("http://a.example/").await;
        assert_eq!(ran.code(), (Code::HttpError, "headers_too_large"));
        assert_eq!(ran.page().validators, None);
        assert!(ran.wire().since_first_byte_ms.is_some(), "it did answer");
    }
    let endless = Server::start(|_| {
        Reply::Endless(
            b"HTTP/1.1 200 OK\r\n".to_vec(),
            b"X-More: and more\r\n".repeat(100),
        )
    })
    .await;
    assert_eq!(
        Rig::at(endless.addr).page("http://a.example/").await.code(),
        (Code::HttpError, "headers_too_large")
    );
}

/// case B23: validators of a size that fits a response but not a record are left out; the page is kept.
#[tokio::test]
async fn long_validators_are_left_out() {
    let fields = format!(
        "ETag: \"{}\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        "x".repeat(5_000)
    );
    let server = Server::always(response(200, &fields, b"page")).await;
    let ran = Rig::at(server.addr).page("http://a.example/").await;
    let expected = pb::Validators {
        etag: String::new(),
        last_modified: "Sun, 06 Nov 1994 08:49:37 GMT".into(),
    };
    assert_eq!(
        (ran.page().code(), ran.page().validators.clone()),
        (Code::Stored, Some(expected))
    );
}

#[tokio::test]
async fn no_answer_at_all() {
    let silent = Server::start(|_| Reply::Hang(Vec::new())).await;
    let closed = Server::start(|_| Reply::Bytes(Vec::new())).await;
    let reset = Server::start(|_| Reply::Reset(Vec::new())).await;
    let half = Server::start(|_| Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-".to_vec())).await;
    for (server, reason) in [
        (&silent, "first_byte_timeout"),
        (&closed, "no_response"),
        (&reset, "connection_reset"),
        (&half, "no_response"),
    ] {
        let ran = Rig::at(server.addr).page("http://a.example/").await;
        assert_eq!(ran.code(), (Code::NetworkError, reason));
        let wire = ran.wire();
        assert_eq!(
            (wire.nothing_written, wire.since_first_byte_ms),
            (false, None),
            "{reason}"
        );
        // hyper has no second try of its own.
        assert_eq!(server.heads().len(), 1, "{reason}");
    }
}

#[tokio::test]
async fn a_reset_in_the_body_and_junk_for_a_head() {
    let reset = Server::start(|_| {
        Reply::Reset(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc".to_vec())
    })
    .await;
    assert_eq!(
        Rig::at(reset.addr).page("http://a.example/").await.code(),
        (Code::NetworkError, "connection_reset")
    );
    for junk in [
        "hello there\r\n\r\n",
        "SSH-2.0-OpenSSH_9\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
    ] {
        let server = Server::always(junk).await;
        let ran = Rig::at(server.addr).page("http://a.example/").await;
        assert_eq!(ran.code(), (Code::HttpError, "protocol_error"), "{junk:?}");
        assert!(ran.wire().since_first_byte_ms.is_some());
    }
}

/// A connection that is refused counts as contact without response.
#[tokio::test]
async fn refused_connections() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = gone.local_addr().unwrap();
    drop(gone);
    let ran = Rig::at(addr).page("http://a.example/").await;
    assert_eq!(ran.code(), (Code::NetworkError, "connect_refused"));
    assert_eq!(
        (ran.wire().nothing_written, ran.wire().since_first_byte_ms),
        (false, None)
    );
}

/// case D11: a bomb costs what it may, and is refused for good.
#[tokio::test]
async fn bombs_are_refused() {
    let bomb = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![0; 12 << 20]).unwrap();
        encoder.finish().unwrap()
    };
    let server = Server::always(response(200, "Content-Encoding: gzip\r\n", &bomb)).await;
    let rig = Rig::at(server.addr);
    assert_eq!(
        rig.page("http://a.example/").await.code(),
        (Code::Refused, "compression_ratio")
    );
    assert!(rig.pages.captures.lock().is_empty());
}
