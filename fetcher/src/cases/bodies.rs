//! Bodies: lengths, chunks, codings, what is stored.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use pb::page_outcome::Code;
use proto::frontier_v1 as pb;

use crate::config::Oversize;
use crate::testing::{Rig, Server, html, page_work, response};

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

async fn outcome_of(bytes: &[u8]) -> (Rig, pb::PageOutcome) {
    let server = Server::always(bytes).await;
    let rig = Rig::at(server.addr);
    let outcome = rig.page("http://a.example/").await.page().clone();
    (rig, outcome)
}

/// case K1: one payload has one digest, whatever its framing or coding.
#[tokio::test]
async fn digests_are_of_the_payload() {
    let body = "<p>the same page, the same page, the same page</p>";
    let coded = gzip(body.as_bytes());
    let chunked = |sizes: usize| {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in body.as_bytes().chunks(sizes) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    };
    let until_close = format!("HTTP/1.0 200 OK\r\n\r\n{body}").into_bytes();
    let forms = [
        html(body),
        chunked(7),
        chunked(20),
        until_close,
        response(200, "Content-Encoding: gzip\r\n", &coded),
    ];
    let expected = page_store::Digest::of(body.as_bytes()).0.to_vec();
    for form in forms {
        let (rig, outcome) = outcome_of(&form).await;
        assert_eq!(
            (outcome.code(), outcome.digest.to_vec()),
            (Code::Stored, expected.clone())
        );
        assert_eq!(
            rig.pages.captures.lock()[0].payload.as_ref(),
            body.as_bytes()
        );
        assert_eq!(
            (outcome.payload_size_bytes, outcome.stores),
            (body.len() as u64, vec![3])
        );
    }
}

/// case G10: a body shorter than its declared length is incomplete and never stored.
#[tokio::test]
async fn short_bodies_are_incomplete() {
    let short = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n".as_slice(),
        &[b'x'; 60],
    ]
    .concat();
    let (rig, outcome) = outcome_of(&short).await;
    assert_eq!(
        (outcome.code(), outcome.reason.as_str()),
        (Code::NetworkError, "incomplete_body")
    );
    assert!(rig.pages.captures.lock().is_empty());
}

/// case G11: chunks without the last one are incomplete.
#[tokio::test]
async fn chunks_need_their_end() {
    let cut = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let (rig, outcome) = outcome_of(cut).await;
    assert_eq!(
        (outcome.code(), outcome.reason.as_str()),
        (Code::NetworkError, "incomplete_body")
    );
    assert!(rig.pages.captures.lock().is_empty());
    let broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n";
    assert_eq!(outcome_of(broken).await.1.reason, "protocol_error");
    // A coding whose end is there, in chunks whose end is not.
    let coded = gzip(b"hello");
    let mut bytes =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    bytes.extend_from_slice(format!("{:x}\r\n", coded.len()).as_bytes());
    bytes.extend_from_slice(&coded);
    bytes.extend_from_slice(b"\r\n");
    assert_eq!(outcome_of(&bytes).await.1.reason, "incomplete_body");
}

/// case G13: bytes beyond the length are not the page's.
#[tokio::test]
async fn longer_bodies_end_at_their_length() {
    let longer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!!";
    let (rig, outcome) = outcome_of(longer).await;
    assert_eq!(outcome.code(), Code::Stored);
    assert_eq!(rig.pages.captures.lock()[0].payload.as_ref(), b"hello");
}

/// case G14: a length that is none is an error, and nothing falls over.
#[tokio::test]
async fn junk_lengths_are_errors() {
    for junk in [
        "12\0",
        "12, 13",
        "-1",
        "1e3",
        "0x5",
        "99999999999999999999999",
        "5;6",
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {junk}\r\n\r\nhello world!");
        let (rig, outcome) = outcome_of(bytes.as_bytes()).await;
        assert_eq!(
            (outcome.code(), outcome.reason.as_str()),
            (Code::HttpError, "protocol_error"),
            "{junk:?}"
        );
        assert!(rig.pages.captures.lock().is_empty());
    }
    let differ = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!";
    assert_eq!(outcome_of(differ).await.1.reason, "protocol_error");
}

/// case G23: an empty answer is recorded as such, and does not replace content.
#[tokio::test]
async fn empty_answers_replace_nothing() {
    let (rig, outcome) = outcome_of(&html("")).await;
    assert_eq!(
        (
            outcome.code(),
            outcome.payload_size_bytes,
            outcome.reason.as_str()
        ),
        (Code::Stored, 0, "empty_body")
    );
    assert_eq!(rig.pages.captures.lock().len(), 1);

    let server = Server::always(html("")).await;
    let rig = Rig::at(server.addr);
    let mut again = page_work("http://a.example/");
    again.digest = vec![7; 32].into();
    assert_eq!(
        rig.page_of(&again).await.code(),
        (Code::HttpError, "empty_body")
    );
    assert!(rig.pages.captures.lock().is_empty());
}

/// case G23, case G25: only 2xx is content; an error's body is not even read.
#[tokio::test]
async fn error_pages_are_not_content() {
    for (status, code) in [
        (401, Code::HttpError),
        (404, Code::HttpError),
        (407, Code::HttpError),
        (500, Code::HttpBusy),
    ] {
        let (rig, outcome) = outcome_of(&response(status, "", &vec![b'x'; 300_000])).await;
        assert_eq!((outcome.code(), outcome.status), (code, u32::from(status)));
        assert_eq!(outcome.reason, format!("http_{status}"));
        assert!(rig.pages.captures.lock().is_empty());
    }
    for (status, reason) in [(204, "no_content"), (206, "unexpected_part")] {
        let head = format!("HTTP/1.1 {status} X\r\nContent-Range: bytes 0-1/9\r\n\r\n");
        assert_eq!(outcome_of(head.as_bytes()).await.1.reason, reason);
    }
}

/// case F16: links come only from accepted bodies; a cut one says so.
#[tokio::test]
async fn links_come_from_accepted_bodies_only() {
    let body = format!("<a href=/x>x</a>{}", " ".repeat(2_000));
    let short =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000\r\n\r\n{body}");
    for bad in [
        short.into_bytes(),
        response(404, "Content-Type: text/html\r\n", body.as_bytes()),
    ] {
        let (rig, _) = outcome_of(&bad).await;
        assert!(rig.frontier.link_urls().is_empty());
    }
    let server = Server::always(html(&body)).await;
    let rig = Rig::with(server.addr, |config| config.http.max_decoded_bytes = 1_000);
    let ran = rig.page("http://a.example/").await;
    assert_eq!(
        (
            ran.page().code(),
            ran.page().truncated,
            ran.page().payload_size_bytes
        ),
        (Code::Stored, true, 1_000)
    );
    assert!(rig.pages.captures.lock()[0].truncated.is_some());
    assert_eq!(rig.frontier.link_urls(), ["http://a.example/x"]);
}

#[tokio::test]
async fn a_cap_refuses_if_it_should() {
    let server = Server::always(html(&"x".repeat(5_000))).await;
    let refuse = |decoded, compressed| {
        Rig::with(server.addr, |config| {
            config.http.oversize = Oversize::Refuse;
            config.http.max_decoded_bytes = decoded;
            config.http.max_compressed_bytes = compressed;
        })
    };
    for rig in [refuse(4_999, 9_000), refuse(9_000, 4_999)] {
        assert_eq!(
            rig.page("http://a.example/").await.code(),
            (Code::Refused, "body_too_large")
        );
        assert!(rig.pages.captures.lock().is_empty());
    }
    assert_eq!(
        refuse(5_000, 5_000).page("http://a.example/").await.code(),
        (Code::Stored, "")
    );
}

#[tokio::test]
async fn codings_that_lie_are_errors() {
    let cases = [
        (
            "gzip",
            b"not gzip at all".to_vec(),
            Code::HttpError,
            "damaged_coding",
        ),
        (
            "snappy",
            b"x".to_vec(),
            Code::HttpError,
            "unsupported_coding",
        ),
        (
            "gzip",
            gzip(b"cut off in the middle")[..20].to_vec(),
            Code::NetworkError,
            "incomplete_coding",
        ),
    ];
    for (coding, body, code, reason) in cases {
        let fields = format!("Content-Encoding: {coding}\r\n");
        let (_, outcome) = outcome_of(&response(200, &fields, &body)).await;
        assert_eq!((outcome.code(), outcome.reason.as_str()), (code, reason));
    }
}
