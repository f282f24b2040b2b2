//! Each hostile server does what it says, seen through a bare socket.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashSet;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

async fn ask(server: &Hostile, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: hostile.example\r\n\r\n").as_bytes())
        .await
        .unwrap();
    stream
}

/// What arrives until the end, an error, or `most` bytes.
async fn read(stream: &mut TcpStream, most: usize) -> (Vec<u8>, Option<io::Error>) {
    let mut bytes = Vec::new();
    while bytes.len() < most {
        match stream.read_buf(&mut bytes).await {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return (bytes, Some(error)),
        }
    }
    (bytes, None)
}

/// The answer to `path` from a server that closes, or keeps the connection after a short answer.
async fn answer(kind: Kind, path: &str) -> (String, Option<io::Error>) {
    let server = spawn(kind).await.unwrap();
    let mut stream = ask(&server, path).await;
    // Half-closed, so that a server that keeps the connection ends it too.
    stream.shutdown().await.unwrap();
    let (bytes, error) = read(&mut stream, usize::MAX).await;
    (String::from_utf8_lossy(&bytes).into_owned(), error)
}

fn head(answer: &str) -> &str {
    answer.split("\r\n\r\n").next().unwrap()
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[tokio::test]
async fn every_kind_counts_connections_and_lets_a_crawler_in() {
    assert_eq!(
        Kind::ALL.iter().collect::<HashSet<_>>().len(),
        Kind::ALL.len()
    );
    for kind in Kind::ALL {
        let server = spawn(kind).await.unwrap();
        assert_eq!((server.connections(), server.kind()), (0, kind));
        let mut stream = ask(&server, "/robots.txt").await;
        match kind {
            Kind::NeverAnswers => {
                let wait = tokio::time::timeout(Duration::from_millis(50), stream.read_u8()).await;
                assert!(wait.is_err());
            }
            Kind::EndlessRobots => {
                let (bytes, error) = read(&mut stream, 3 << 20).await;
                assert!(bytes.len() >= 3 << 20 && error.is_none());
                assert!(String::from_utf8_lossy(&bytes).contains("\r\n\r\nUser-agent: *\n"));
                assert!(server.written_bytes() >= 3 << 20);
            }
            _ => {
                let (bytes, _) = read(&mut stream, 20).await;
                assert!(bytes.starts_with(b"HTTP/1.1 404 "), "{kind:?}");
            }
        }
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn endless_ones_go_on() {
    for kind in [Kind::EndlessBody, Kind::GzipBomb] {
        let server = spawn(kind).await.unwrap();
        let mut stream = ask(&server, "/").await;
        let (bytes, error) = read(&mut stream, 4 << 20).await;
        assert!(
            bytes.starts_with(b"HTTP/1.1 200 OK\r\n") && error.is_none(),
            "{kind:?}"
        );
    }
    let server = spawn(Kind::Drip).await.unwrap();
    let mut stream = ask(&server, "/").await;
    let (bytes, _) = read(&mut stream, 69).await;
    let text = String::from_utf8(bytes).unwrap();
    let drops = text.split_once("Content-Length: 100000\r\n\r\n").unwrap().1;
    assert!(!drops.is_empty() && drops.bytes().all(|byte| byte == b'x'));
}

#[tokio::test]
async fn the_bomb_is_gzip_and_large() {
    use std::io::Read;
    let server = spawn(Kind::GzipBomb).await.unwrap();
    let mut stream = ask(&server, "/").await;
    let (bytes, _) = read(&mut stream, 64 << 10).await;
    let start = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 4;
    let mut unpacked = vec![1; 8 << 20];
    flate2::read::GzDecoder::new(&bytes[start..])
        .read_exact(&mut unpacked)
        .unwrap();
    assert!(unpacked.iter().all(|byte| *byte == 0));
}

#[tokio::test]
async fn floods_are_as_large_as_stated() {
    for (kind, mark, count) in [
        (Kind::HeaderFlood, "\r\nX-Flood-", 3000),
        (Kind::HugeHeader, "\r\nX-Flood: ", 1),
        (Kind::CookieFlood, "\r\nSet-Cookie: ", 2000),
    ] {
        let (text, _) = answer(kind, "/").await;
        assert_eq!(head(&text).matches(mark).count(), count);
        let least = if kind == Kind::CookieFlood {
            190_000
        } else {
            300_000
        };
        assert!(head(&text).len() > least, "{kind:?} {}", head(&text).len());
    }
    let (text, _) = answer(Kind::InterimFlood, "/").await;
    assert_eq!(text.matches("HTTP/1.1 103 ").count(), 100);
    assert!(text.ends_with("hello world\n"));
}

#[tokio::test]
async fn lengths_are_wrong_in_the_stated_way() {
    for (kind, line) in [
        (Kind::LengthNul, "Content-Length: 12\0"),
        (Kind::LengthList, "Content-Length: 12, 12"),
        (Kind::LengthTwice, "Content-Length: 12\r\nContent-Length: 5"),
        (Kind::LengthNegative, "Content-Length: -1"),
        (Kind::LengthExponent, "Content-Length: 1e3"),
        (Kind::LengthHuge, "Content-Length: 99999999999999999999999"),
        (Kind::ShortBody, "Content-Length: 24"),
        (Kind::LongBody, "Content-Length: 6"),
        (
            Kind::GzipGarbage,
            "Content-Encoding: gzip\r\nContent-Length: 12",
        ),
    ] {
        let (text, _) = answer(kind, "/").await;
        assert!(head(&text).ends_with(line), "{text}");
        assert_eq!(body(&text), "hello world\n");
    }
}

#[tokio::test]
async fn bodies_end_in_the_stated_way() {
    let (text, error) = answer(Kind::ChunkedNoEnd, "/").await;
    assert!(text.ends_with("\r\n\r\nc\r\nhello world\n\r\n") && error.is_none());
    let (text, _) = answer(Kind::ChunkedBadSize, "/").await;
    assert!(text.contains("\r\nzz\r\n"));
    let server = spawn(Kind::ResetMidBody).await.unwrap();
    let (bytes, error) = read(&mut ask(&server, "/").await, usize::MAX).await;
    assert!(bytes.ends_with(b"hello world\n"));
    assert_eq!(error.unwrap().kind(), io::ErrorKind::ConnectionReset);
    let (text, _) = answer(Kind::NotHttp, "/").await;
    assert!(!text.contains("HTTP/"));
    let (text, _) = answer(Kind::NotModified, "/").await;
    assert!(text.starts_with("HTTP/1.1 304 ") && body(&text).is_empty());
}

#[tokio::test]
async fn redirects_lead_where_stated() {
    for (kind, path, line) in [
        (Kind::RedirectLoop, "/", "\r\nLocation: /a"),
        (Kind::RedirectLoop, "/a", "\r\nLocation: /b"),
        (Kind::RedirectLoop, "/b", "\r\nLocation: /"),
        (Kind::RedirectEndless, "/", "\r\nLocation: /1"),
        (Kind::RedirectEndless, "/41", "\r\nLocation: /42"),
        (Kind::LocationUtf8, "/", "\r\nLocation: /été/夏?q=ü"),
        (
            Kind::LocationSpaces,
            "/",
            "\r\nLocation: /two words/and more?q=a b ",
        ),
        (Kind::LocationMissing, "/", "\r\nContent-Length: 0"),
    ] {
        let (text, _) = answer(kind, path).await;
        assert!(
            text.starts_with("HTTP/1.1 302 ") && head(&text).ends_with(line),
            "{kind:?} {text}"
        );
    }
    for kind in [
        Kind::LocationUtf8,
        Kind::LocationSpaces,
        Kind::EndlessRobots,
    ] {
        assert!(
            answer(kind, "/elsewhere")
                .await
                .0
                .ends_with("hello world\n")
        );
    }
    let (text, _) = answer(Kind::SlowFirstByte, "/").await;
    assert!(text.ends_with("hello world\n"));
}

#[tokio::test]
async fn dropping_a_server_ends_its_connections() {
    let server = spawn(Kind::NeverAnswers).await.unwrap();
    let mut stream = ask(&server, "/").await;
    while server.requests() == 0 {
        tokio::task::yield_now().await;
    }
    drop(server);
    let (bytes, _) = read(&mut stream, usize::MAX).await;
    assert!(bytes.is_empty());
}
