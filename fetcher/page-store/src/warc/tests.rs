//! The record format against the cases of kind K, and against another reader.
#![allow(clippy::unwrap_used)]

use std::io::Write;

use bytes::Bytes;
use proptest::prelude::*;

use super::member::{MEMBER_PREFIX_SIZE_BYTES, Member, MemberPrefix, find_prefix};
use super::*;
use crate::capture::{Capture, Truncated, UnmodifiedCapture};
use crate::deflated::Deflated;
use crate::digest::Digest;
use crate::error::{BadRecord, InvalidCapture};
use crate::testing::{capture, noise};

fn ids() -> RecordIds {
    RecordIds::new(&[7; 16])
}

fn response(capture: &Capture) -> Member {
    let digest = Digest::of(&capture.payload);
    Response {
        id: ids().next(),
        digest,
        capture,
        deflated: None,
    }
    .encode(6)
    .unwrap()
}

fn text(member: &Member) -> String {
    String::from_utf8_lossy(&Member::decode(&member.0).unwrap()).into_owned()
}

fn parse(member: &Member) -> Record {
    Record::parse(Bytes::from(Member::decode(&member.0).unwrap())).unwrap()
}

// case K5: the head must be true about the decoded body.
#[test]
fn original_body_headers_are_renamed_and_the_true_length_written() {
    let mut page = capture("http://a.example/", "decoded body");
    page.headers = vec![
        ("content-encoding".to_owned(), b"gzip".to_vec()),
        ("Transfer-Encoding".to_owned(), b"chunked".to_vec()),
        ("CONTENT-LENGTH".to_owned(), b"7".to_vec()),
    ];
    let text = text(&response(&page));
    assert!(
        text.contains("\r\nX-Archive-Orig-content-encoding: gzip\r\n"),
        "{text}"
    );
    assert!(text.contains("\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\n"));
    assert!(text.contains("\r\nX-Archive-Orig-CONTENT-LENGTH: 7\r\n"));
    assert!(text.ends_with("\r\nContent-Length: 12\r\n\r\ndecoded body\r\n\r\n"));
}

// case K7: readers refuse a status line "HTTP/2".
#[test]
fn the_status_line_is_http_1_1_and_the_protocol_has_its_own_field() {
    let page = Capture {
        protocol: "h2".to_owned(),
        status: 404,
        reason: String::new(),
        ..capture("http://a.example/", "x")
    };
    let text = text(&response(&page));
    assert!(text.contains("\r\n\r\nHTTP/1.1 404 \r\n"), "{text}");
    assert!(text.contains("\r\nWARC-Protocol: h2\r\n"));
    assert!(!text.contains("HTTP/2"));
}

// case K8: headers are kept, in order, repeated, whatever their bytes.
#[test]
fn all_other_headers_are_kept() {
    let mut page = capture("http://a.example/", "x");
    page.headers = vec![
        ("Set-Cookie".to_owned(), b"a=1".to_vec()),
        ("X-Bytes".to_owned(), b"\xff\xfe".to_vec()),
        ("Set-Cookie".to_owned(), b"b=2".to_vec()),
        ("Empty".to_owned(), vec![]),
    ];
    let (head, payload) = parse(&response(&page)).http().unwrap();
    assert_eq!(head.headers[..4], page.headers[..]);
    assert_eq!(
        head.headers[4],
        ("Content-Length".to_owned(), b"1".to_vec())
    );
    assert_eq!(payload, page.payload);
}

#[test]
fn a_value_cannot_start_a_header_of_its_own() {
    let mut page = capture("http://a.example/", "x");
    page.reason = "OK\r\nX: 1".to_owned();
    page.headers = vec![("A".to_owned(), b"1\r\n\r\nB: 2\0".to_vec())];
    let (head, payload) = parse(&response(&page)).http().unwrap();
    assert_eq!(head.headers[0], ("A".to_owned(), b"1    B: 2".to_vec()));
    assert_eq!(head.headers.len(), 2);
    assert_eq!(payload, page.payload);
}

#[test]
fn a_response_says_where_when_and_what() {
    let page = Capture {
        truncated: Some(Truncated::Time),
        ..capture("https://a.example/?q=1", "x")
    };
    let member = response(&page);
    let text = text(&member);
    for field in [
        "WARC-Target-URI: https://a.example/?q=1",
        "WARC-IP-Address: 192.0.2.7",
        "WARC-Truncated: time",
        "Content-Type: application/http;msgtype=response",
        &format!("WARC-Payload-Digest: sha256:{}", Digest::of(b"x")),
    ] {
        assert!(
            text.contains(&format!("\r\n{field}\r\n")),
            "{field}: {text}"
        );
    }
    let record = parse(&member);
    assert_eq!(record.record_type, RecordType::Response);
    assert_eq!(record.captured_at_unix_ms, page.captured_at_unix_ms);
    assert_eq!(record.truncated, page.truncated);
    assert_eq!(record.block_digest, Digest::of(&record.block));
    assert_eq!(record.digest, Some(Digest::of(b"x")));
}

// case K2: a revisit has the digest of the payload, not of its empty body. case G5: a 304 keeps the previous one.
#[test]
fn revisits_carry_the_payloads_digest_and_refer_to_the_first_capture() {
    let first = ids().next();
    let digest = Digest::of(b"the payload");
    let refers_to = || RefersTo {
        id: first,
        url: "http://first.example/",
        captured_at_unix_ms: 1_700_000_000_123,
    };
    let page = capture("http://second.example/", "the payload");
    let identical = Revisit {
        id: ids().next(),
        digest,
        refers_to: refers_to(),
    }
    .encode_identical(&page, page.payload.len() as u64, 6)
    .unwrap();
    let unmodified = UnmodifiedCapture {
        url: "http://second.example/".to_owned(),
        captured_at_unix_ms: 1_800_000_000_000,
        headers: vec![
            ("ETag".to_owned(), b"\"1\"".to_vec()),
            ("Content-Length".to_owned(), b"11".to_vec()),
        ],
        digest,
    };
    let not_modified = Revisit {
        id: ids().next(),
        digest,
        refers_to: refers_to(),
    }
    .encode_unmodified(&unmodified, 6)
    .unwrap();
    for member in [&identical, &not_modified] {
        let text = text(member);
        for field in [
            format!("WARC-Payload-Digest: sha256:{digest}"),
            format!("WARC-Refers-To: <{first}>"),
            "WARC-Refers-To-Target-URI: http://first.example/".to_owned(),
            "WARC-Refers-To-Date: 2023-11-14T22:13:20.123Z".to_owned(),
        ] {
            assert!(
                text.contains(&format!("\r\n{field}\r\n")),
                "{field}: {text}"
            );
        }
        let (_, payload) = parse(member).http().unwrap();
        assert!(payload.is_empty());
    }
    assert_eq!(parse(&identical).record_type, RecordType::RevisitIdentical);
    assert_eq!(
        parse(&not_modified).record_type,
        RecordType::RevisitNotModified
    );
    assert!(text(&not_modified).ends_with("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nX-Archive-Orig-Content-Length: 11\r\n\r\n\r\n\r\n"));
}

#[test]
fn a_date_that_the_format_cannot_hold_is_refused() {
    let page = Capture {
        captured_at_unix_ms: u64::MAX,
        ..capture("http://a.example/", "x")
    };
    let refused = Response {
        id: ids().next(),
        digest: Digest::of(b"x"),
        capture: &page,
        deflated: None,
    }
    .encode(6);
    assert!(matches!(
        refused,
        Err(EncodeError::Invalid(InvalidCapture::Date(u64::MAX)))
    ));
}

#[test]
fn a_member_knows_its_size_and_is_found_between_other_bytes() {
    let member = response(&capture("http://a.example/", noise(1, 5_000)));
    let prefix = MemberPrefix::parse(&member.0).unwrap();
    assert_eq!(
        prefix,
        MemberPrefix {
            member_size_bytes: member.0.len() as u64,
            group_start_bytes: 0
        }
    );
    let mut bytes = noise(2, 1_000).to_vec();
    bytes.extend_from_slice(&member.0);
    assert_eq!(find_prefix(&bytes), Some(1_000));
    assert_eq!(find_prefix(&bytes[1_001..]), None);
    assert_eq!(
        MemberPrefix::parse(&member.0[..MEMBER_PREFIX_SIZE_BYTES - 1]),
        Err(BadRecord::Cut)
    );
}

// case K4: whatever is cut or changed, decoding ends with an error.
#[test]
fn every_cut_and_every_changed_byte_of_a_member_is_noticed() {
    let member = response(&capture("http://a.example/", noise(3, 300)));
    let whole = Member::decode(&member.0).unwrap();
    for size in 0..member.0.len() {
        assert!(Member::decode(&member.0[..size]).is_err(), "cut at {size}");
    }
    for at in MEMBER_PREFIX_SIZE_BYTES..member.0.len() {
        let mut changed = member.0.clone();
        changed[at] ^= 0x55;
        // A changed bit in deflate's padding may leave the same bytes.
        assert!(
            Member::decode(&changed).map_or(true, |bytes| bytes == whole),
            "changed at {at}"
        );
    }
    let mut longer = member.0.clone();
    longer.push(0);
    assert!(matches!(Member::decode(&longer), Err(BadRecord::Gzip(_))));
}

#[test]
fn a_gzip_bomb_is_not_inflated_beyond_the_largest_record() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..=(crate::limits::RECORD_MAX_SIZE_BYTES >> 20) + 1 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert_eq!(
        Member::decode(&bomb),
        Err(BadRecord::Gzip("longer than any record".to_owned()))
    );
}

#[test]
fn another_reader_reads_all_kinds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.warc.gz");
    let info = WarcInfo {
        id: ids().next(),
        file_name: "x.warc.gz",
        created_at_unix_ms: 0,
        software: "a\r\nb",
        store_id: &[1; 16],
    };
    let mut bytes = info.encode(6).unwrap().0;
    let page = capture("http://a.example/", "hello");
    bytes.extend_from_slice(&response(&page).0);
    let refers_to = RefersTo {
        id: ids().next(),
        url: "http://a.example/",
        captured_at_unix_ms: 0,
    };
    let revisit = Revisit {
        id: ids().next(),
        digest: Digest::of(b"hello"),
        refers_to,
    };
    bytes.extend_from_slice(
        &revisit
            .encode_identical(&page, page.payload.len() as u64, 6)
            .unwrap()
            .0,
    );
    std::fs::write(&path, bytes).unwrap();

    let reader = warc::WarcReader::from_path_gzip(&path).unwrap();
    let records: Vec<_> = reader.iter_records().map(Result::unwrap).collect();
    let kinds: Vec<String> = records
        .iter()
        .map(|record| record.warc_type().to_string())
        .collect();
    assert_eq!(kinds, ["warcinfo", "response", "revisit"]);
    assert!(records[1].body().ends_with(b"\r\n\r\nhello"));
    assert!(records[0].body().starts_with(b"software: a  b\r\n"));
}

proptest! {
    #[test]
    fn any_payload_and_any_header_value_round_trip(payload: Vec<u8>, value: Vec<u8>, level in 1u32..=9) {
        let mut page = capture("http://a.example/", payload);
        page.headers = vec![("X".to_owned(), value)];
        let digest = Digest::of(&page.payload);
        let member = Response { id: ids().next(), digest, capture: &page, deflated: None }.encode(level).unwrap();
        prop_assert_eq!(MemberPrefix::parse(&member.0).unwrap().member_size_bytes, member.0.len() as u64);
        let (_, payload) = parse(&member).http().unwrap();
        prop_assert_eq!(payload, page.payload);
    }

    /// A record around a payload that came deflated reads as one that was compressed here.
    #[test]
    fn a_deflated_payload_makes_the_same_record(words in prop::collection::vec("[a-e]{1,4}", 20..400), level in 1u32..=9) {
        let page = capture("http://a.example/", words.join(" ").into_bytes());
        let digest = Digest::of(&page.payload);
        let deflated = Deflated::of(&page.payload, level);
        prop_assume!(deflated.is_some());
        let id = ids().next();
        let around = Response { id, digest, capture: &page, deflated: deflated.as_ref() }.encode(level).unwrap();
        let plain = Response { id, digest, capture: &page, deflated: None }.encode(level).unwrap();
        prop_assert_eq!(Member::decode(&around.0).unwrap(), Member::decode(&plain.0).unwrap());
        prop_assert_eq!(MemberPrefix::parse(&around.0).unwrap().member_size_bytes, around.0.len() as u64);
    }

    #[test]
    fn parsing_any_bytes_never_panics(bytes: Vec<u8>) {
        let _ = MemberPrefix::parse(&bytes);
        let _ = Member::decode(&bytes);
        let _ = super::http::HttpHead::parse(&bytes);
        prop_assert!(Record::parse(Bytes::from(bytes)).is_err());
    }
}
