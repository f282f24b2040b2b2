//! The server over real sockets: delivery, conditions, and the arrival log.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

use super::*;
use crate::reference_crawl::client::fetch;
use crate::{Manifest, Outcome, read_arrivals};

fn options(hosts: u32, seed: u64) -> FakeWebOptions {
    let mut options = FakeWebOptions::new(hosts, seed);
    options.features.slow_hosts = false;
    options
}

/// URLs with an outcome, but for the flaky ones.
fn urls(manifest: &Manifest, outcome: Outcome) -> Vec<String> {
    let wanted = manifest
        .entries
        .values()
        .filter(|entry| entry.outcome == outcome && entry.retries == 0);
    wanted.map(|entry| entry.url.clone()).collect()
}

#[tokio::test]
async fn validators_are_confirmed_and_others_are_not() {
    let options = options(40, 21);
    let web = FakeWeb::start(options.clone()).unwrap();
    let (mut by_tag, mut by_date) = (0, 0);
    for url in urls(&Manifest::of(&options).unwrap(), Outcome::Fetched) {
        let first = fetch(web.addr, &url, &[]).await;
        if let Some(etag) = first.header("etag") {
            by_tag += 1;
            let again = fetch(web.addr, &url, &[("if-none-match", &etag)]).await;
            assert_eq!(
                (again.status, again.body.len(), again.header("etag")),
                (304, 0, Some(etag))
            );
            let other = fetch(web.addr, &url, &[("if-none-match", "\"other\"")]).await;
            assert_eq!((other.status, other.body), (200, first.body.clone()));
        }
        if let Some(date) = first.header("last-modified") {
            by_date += 1;
            assert_eq!(
                fetch(web.addr, &url, &[("if-modified-since", &date)])
                    .await
                    .status,
                304
            );
            let old = ("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT");
            assert_eq!(fetch(web.addr, &url, &[old]).await.status, 200);
        }
    }
    assert!(by_tag > 10 && by_date > 10);
}

#[tokio::test]
async fn codings_and_chunks_change_nothing_of_the_payload() {
    let options = options(40, 22);
    let web = FakeWeb::start(options.clone()).unwrap();
    let (mut gzip, mut deflate, mut chunked, mut sized) = (0, 0, 0, 0);
    for url in urls(&Manifest::of(&options).unwrap(), Outcome::Fetched) {
        let packed = fetch(web.addr, &url, &[]).await;
        let plain = fetch(web.addr, &url, &[("accept-encoding", "identity, gzip;q=0")]).await;
        assert!(plain.whole && packed.whole && plain.header("content-encoding").is_none());
        assert_eq!(packed.body, plain.body);
        match packed.header("content-encoding").as_deref() {
            Some("gzip") => gzip += 1,
            Some("deflate") => deflate += 1,
            _ => {}
        }
        match plain.header("transfer-encoding") {
            Some(_) => chunked += 1,
            None => sized += 1,
        }
    }
    assert!(gzip > 0 && deflate > 0 && chunked > 0 && sized > 0);
}

#[tokio::test]
async fn a_cut_body_has_some_bytes_and_no_end() {
    let options = options(100, 23);
    let web = FakeWeb::start(options.clone()).unwrap();
    let cut = urls(&Manifest::of(&options).unwrap(), Outcome::Truncated);
    assert!(!cut.is_empty());
    for url in cut {
        let fetched = fetch(web.addr, &url, &[]).await;
        let announced: usize = fetched.header("content-length").unwrap().parse().unwrap();
        assert!(!fetched.whole && !fetched.body.is_empty() && fetched.body.len() < announced);
    }
}

#[tokio::test]
async fn oversize_pages_are_served_whole_when_asked_for() {
    let mut options = options(60, 24);
    options.features.oversize = true;
    let web = FakeWeb::start(options.clone()).unwrap();
    let manifest = Manifest::of(&options).unwrap();
    let url = urls(&manifest, Outcome::Oversize).pop().unwrap();
    let fetched = fetch(web.addr, &url, &[]).await;
    assert!(fetched.whole && fetched.body.len() >= limits::OVERSIZE_BYTES);
}

#[tokio::test]
async fn names_are_told_apart_whatever_their_spelling() {
    let web = FakeWeb::start(options(3, 25)).unwrap();
    let right = fetch(web.addr, "http://h0000.site000.example/", &[]).await;
    for host in [
        "H0000.SITE000.example",
        "h0000.site000.example.",
        "h0000.site000.example:8080",
    ] {
        let fetched = fetch(web.addr, &format!("http://{host}/"), &[]).await;
        assert_eq!(
            (fetched.status, &fetched.body),
            (200, &right.body),
            "{host}"
        );
    }
    assert_eq!(
        fetch(web.addr, "http://h0003.site001.example/", &[])
            .await
            .status,
        404
    );
    assert_eq!(
        fetch(web.addr, "http://h0000.site000.example/nowhere", &[])
            .await
            .status,
        404
    );
    let arrivals = web.arrivals();
    assert_eq!(
        arrivals
            .iter()
            .filter(|arrival| arrival.host == "h0000.site000.example")
            .count(),
        5
    );
    assert_eq!(web.requests(), 6);
}

#[tokio::test]
async fn another_spelling_of_a_path_is_the_same_page_and_is_logged_as_sent() {
    let options = options(20, 30);
    let web = FakeWeb::start(options.clone()).unwrap();
    let fetched = urls(&Manifest::of(&options).unwrap(), Outcome::Fetched);
    let url = fetched.iter().find(|url| url.contains("/docs/")).unwrap();
    let right = fetch(web.addr, url, &[]).await;
    let other = fetch(web.addr, &url.replace("/docs/", "/%64oc%73/"), &[]).await;
    assert_eq!((other.status, other.body), (200, right.body));
    assert!(web.arrivals()[1].path.starts_with("/%64oc%73/"));
}

#[test]
fn pipelined_requests_are_one_arrival_each() {
    let web = FakeWeb::start(options(1, 26)).unwrap();
    let before_ns = monotonic_ns();
    let mut stream = TcpStream::connect(web.addr).unwrap();
    let request = "GET /robots.txt?n=1 HTTP/1.1\r\nHost: h0000.site000.example\r\n\r\n";
    let last = "GET /x HTTP/1.1\r\nHost: h0000.site000.example\r\nConnection: close\r\n\r\n";
    stream
        .write_all(format!("{request}{request}{last}").as_bytes())
        .unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    let arrivals = web.arrivals();
    assert_eq!(arrivals.len(), 3);
    assert!(
        arrivals
            .iter()
            .all(|arrival| arrival.conn == 1 && arrival.status == 404)
    );
    assert!(
        arrivals
            .iter()
            .all(|arrival| (before_ns..=monotonic_ns()).contains(&arrival.t_ns))
    );
    assert_eq!(arrivals[0].path, "/robots.txt?n=1");
}

#[tokio::test]
async fn a_stamp_is_that_of_the_first_byte() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = tokio::net::TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (mut io, stamps) = stamped_io::StampedIo::new(listener.accept().await.unwrap().0);
    let mut byte = [0];
    client.write_all(b"G").await.unwrap();
    io.read_exact(&mut byte).await.unwrap();
    let middle_ns = monotonic_ns();
    client.write_all(b"ET").await.unwrap();
    io.read_exact(&mut byte).await.unwrap();
    let first_ns = stamps.take();
    assert!(first_ns > 0 && first_ns <= middle_ns);
    io.read_exact(&mut byte).await.unwrap();
    assert!(stamps.take() >= middle_ns);
}

#[tokio::test]
async fn the_log_file_has_a_line_a_request_in_the_stated_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arrivals.jsonl");
    let mut options = options(5, 27);
    options.log = Some(path.clone());
    for append in [false, true] {
        options.log_append = append;
        let web = FakeWeb::start(options.clone()).unwrap();
        for _ in 0..3 {
            fetch(web.addr, "http://h0001.site000.example/robots.txt", &[]).await;
        }
        web.shutdown().unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 6);
    for line in text.lines() {
        let keys = [
            "{\"t_ns\":",
            ",\"host\":\"h0001.site000.example\"",
            ",\"path\":\"/robots.txt\"",
            ",\"status\":",
            ",\"conn\":",
        ];
        let places: Vec<usize> = keys.iter().map(|key| line.find(key).unwrap()).collect();
        assert!(places.is_sorted() && line.ends_with('}'), "{line}");
    }
    let arrivals = read_arrivals(BufReader::new(text.as_bytes())).unwrap();
    assert!(arrivals.is_sorted_by_key(|arrival| arrival.t_ns));
    // A new run replaces the file unless told otherwise.
    options.log_append = false;
    FakeWeb::start(options).unwrap().shutdown().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
}

#[test]
fn what_cannot_start_says_why() {
    let first = FakeWeb::start(options(1, 28)).unwrap();
    let mut taken = options(1, 28);
    taken.listen = first.addr;
    assert!(matches!(
        FakeWeb::start(taken),
        Err(FakeWebError::Listen { .. })
    ));
    let mut nowhere = options(1, 28);
    nowhere.log = Some("/nowhere/at/all".into());
    let error = FakeWeb::start(nowhere).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot open the arrival log /nowhere/at/all: "),
        "{error}"
    );
}

#[tokio::test]
async fn a_million_hosts_cost_nothing_until_they_are_asked() {
    let mut options = options(1_000_000, 29);
    options.threads = 2;
    let web = FakeWeb::start(options).unwrap();
    let last = format!("http://{}/", host_name(999_999));
    assert_eq!(fetch(web.addr, &last, &[]).await.status, 200);
    assert_eq!(fetch(web.addr, &web.seed_url, &[]).await.status, 200);
}

#[test]
fn the_same_options_give_the_same_manifest_bytes() {
    let manifest = |seed| {
        let mut bytes = Vec::new();
        let count = crate::write_manifest(&FakeWebOptions::new(60, seed), &mut bytes).unwrap();
        assert_eq!(
            bytes.iter().filter(|byte| **byte == b'\n').count() as u64,
            count
        );
        bytes
    };
    let bytes = manifest(31);
    assert_eq!(bytes, manifest(31));
    assert_ne!(bytes, manifest(32));
    let read = Manifest::read(bytes.as_slice()).unwrap();
    assert_eq!(read, Manifest::of(&FakeWebOptions::new(60, 31)).unwrap());
    let error = Manifest::read("\n{\"url\":1}\n".as_bytes())
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("manifest line 2: "), "{error}");
}
