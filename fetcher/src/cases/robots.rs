//! robots.txt: what each ending means, redirects as errands, errands themselves.

use std::sync::atomic::Ordering;

use pb::robots_found::Code;
use proto::frontier_v1 as pb;
use sha2::{Digest, Sha256};

use crate::testing::{Reply, Rig, Server, response};

const URL: &str = "http://a.example/robots.txt";

async fn found_of(bytes: impl Into<Vec<u8>>) -> pb::RobotsFound {
    let server = Server::always(bytes).await;
    Rig::at(server.addr).robots(URL).await.found().clone()
}

/// case D1: whatever is no answer closes the host.
#[tokio::test]
async fn no_answer_is_no_licence() {
    for (bytes, status, reason) in [
        (response(503, "", b""), 503, "http_503"),
        (
            response(500, "Content-Type: text/html\r\n", b"<html>oops</html>"),
            500,
            "http_500",
        ),
        (b"nonsense\r\n\r\n".to_vec(), 0, "protocol_error"),
        (Vec::new(), 0, "no_response"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nUser-agent: *\n".to_vec(),
            200,
            "incomplete_body",
        ),
    ] {
        let found = found_of(bytes).await;
        assert_eq!(
            (found.code(), found.status, found.reason.as_str()),
            (Code::Unreachable, status, reason)
        );
    }
    for reply in [
        |_: &str| Reply::Reset(Vec::new()),
        |_: &str| Reply::Hang(Vec::new()),
    ] {
        let server = Server::start(reply).await;
        let ran = Rig::at(server.addr).robots(URL).await;
        assert_eq!(ran.found().code(), Code::Unreachable);
        assert_eq!(ran.wire().since_first_byte_ms, None);
    }
    let refused = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let ran = Rig::at(refused).robots(URL).await;
    assert_eq!(
        (ran.found().code(), ran.found().reason.as_str()),
        (Code::Unreachable, "connect_refused")
    );
}

/// case D4: 429 closes the host and its wait is kept.
#[tokio::test]
async fn too_many_requests() {
    let server = Server::always(response(429, "Retry-After: 30\r\n", b"")).await;
    let ran = Rig::at(server.addr).robots(URL).await;
    assert_eq!(
        (ran.found().code(), ran.wire().retry_after_ms),
        (Code::Unreachable, 30_000)
    );
}

/// case D5: 4xx allow; 401 and 403 by a switch.
#[tokio::test]
async fn closed_doors_by_a_switch() {
    for status in [401, 403, 404, 410, 451] {
        let server = Server::always(response(status, "", b"Disallow: /")).await;
        assert_eq!(
            Rig::at(server.addr).robots(URL).await.found().code(),
            Code::AllowAll,
            "{status}"
        );
        let strict = Rig::with(server.addr, |config| {
            config.http.robots_401_403_disallow = true
        });
        let ran = strict.robots(URL).await;
        if status < 404 {
            assert_eq!(ran.found().code(), Code::Rules);
            assert!(
                !robots::Robots::parse(&ran.found().body, "escapement")
                    .check("/x")
                    .allowed
            );
        } else {
            assert_eq!(ran.found().code(), Code::AllowAll);
        }
    }
}

/// case A8, case D28: what is found is a body with its digest, and the delay it asks for.
#[tokio::test]
async fn rules_and_their_delay() {
    let body = "User-agent: *\nCrawl-delay: 2.5\nDisallow: /x\n";
    let found = found_of(response(200, "ETag: \"r\"\r\n", body.as_bytes())).await;
    assert_eq!(
        (
            found.code(),
            found.status,
            found.crawl_delay_ms,
            found.no_valid_line
        ),
        (Code::Rules, 200, 2_500, false)
    );
    assert_eq!(found.body.as_ref(), body.as_bytes());
    assert_eq!(found.digest.to_vec(), Sha256::digest(body).to_vec());
    assert_eq!(found.validators.unwrap().etag, "\"r\"");
    for junk in ["inf", "-inf", "nan", "-5", "abc", "1,000", "2.5s", ""] {
        let body = format!("User-agent: *\nCrawl-delay: {junk}\n");
        assert_eq!(
            found_of(response(200, "", body.as_bytes()))
                .await
                .crawl_delay_ms,
            0,
            "{junk}"
        );
    }
    let vast = found_of(response(
        200,
        "",
        b"User-agent: *\nCrawl-delay: 99999999999999999999\n",
    ))
    .await;
    assert_eq!(vast.crawl_delay_ms, robots::limits::MAX_CRAWL_DELAY_MS);
    assert!(
        found_of(response(200, "", b"<html><body>challenge</body></html>"))
            .await
            .no_valid_line
    );
}

/// case D11: an endless body and a bomb are read to 500 KiB and no further; half a line does not count.
#[tokio::test]
async fn bodies_are_capped() {
    let head = b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /secret\n".to_vec();
    let server = Server::start(move |_| {
        Reply::Endless(head.clone(), b"Disallow: /abcdefghijklmnop\n".repeat(100))
    })
    .await;
    let ran = Rig::at(server.addr).robots(URL).await;
    let found = ran.found();
    assert_eq!(found.code(), Code::Rules);
    assert!(
        found.body.len() <= robots::limits::MAX_BODY_BYTES
            && found.body.len() > robots::limits::MAX_BODY_BYTES - 100
    );
    assert!(found.body.ends_with(b"mnop\n"));
    assert!(
        !robots::Robots::parse(&found.body, "escapement")
            .check("/secret")
            .allowed
    );

    let bomb = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder
            .write_all(b"User-agent: *\nDisallow: /secret\n")
            .unwrap();
        encoder.write_all(&vec![b'\n'; 8 << 20]).unwrap();
        encoder.finish().unwrap()
    };
    let found = found_of(response(200, "Content-Encoding: gzip\r\n", &bomb)).await;
    assert_eq!(
        (found.code(), found.body.len()),
        (Code::Rules, robots::limits::MAX_BODY_BYTES)
    );
    assert!(
        !robots::Robots::parse(&found.body, "escapement")
            .check("/secret")
            .allowed
    );
}

/// case D23: the authority's own port, and no user information.
#[tokio::test]
async fn robots_of_the_authority_asked_for() {
    let server = Server::always(response(200, "", b"")).await;
    let rig = Rig::at(server.addr);
    let _ = rig.robots("http://e.example:8080/robots.txt").await;
    assert!(
        server.heads()[0].starts_with("GET /robots.txt HTTP/1.1\r\n")
            && server.heads()[0].contains("host: e.example:8080\r\n")
    );
    let ran = rig.robots("http://user:pw@e.example/robots.txt").await;
    assert_eq!(
        (ran.found().code(), ran.found().reason.as_str()),
        (Code::Unreachable, "invalid_url")
    );
    assert_eq!(server.heads().len(), 1);
}

/// case A5, case D8: a redirect becomes an errand in the target's own queue before the origin is reported as waiting.
#[tokio::test]
async fn redirects_become_errands() {
    for (location, target) in [
        (
            "https://a.example/robots.txt",
            "https://a.example/robots.txt",
        ),
        (
            "http://big.example/user/robots.txt",
            "http://big.example/user/robots.txt",
        ),
        ("/other.txt", "http://a.example/other.txt"),
    ] {
        let server = Server::always(response(301, &format!("Location: {location}\r\n"), b"")).await;
        let rig = Rig::at(server.addr);
        let ran = rig.robots(URL).await;
        assert_eq!(ran.found().code(), Code::Pending);
        let errands = rig.frontier.errands();
        assert_eq!(
            (
                errands.len(),
                errands[0].url.as_str(),
                errands[0].hop,
                errands[0].attempt
            ),
            (1, target, 1, 4)
        );
        assert_eq!(
            (errands[0].origin.as_str(), errands[0].origin_partition),
            ("http://a.example", 7)
        );
        assert_eq!(server.targets(), ["/robots.txt"]);
    }
}

/// case D8: a refused hop is unreachable, not allow-all; no errand is placed.
#[tokio::test]
async fn refused_hops_close_the_host() {
    for (location, reason) in [
        ("http://169.254.169.254/", "private_address"),
        ("http://[::ffff:10.0.0.1]/", "private_address"),
        ("ftp://a.example/robots.txt", "redirect_scheme"),
        ("/robots.txt", "redirect_loop"),
        ("http://", "redirect_invalid"),
    ] {
        let server = Server::always(response(302, &format!("Location: {location}\r\n"), b"")).await;
        let override_of_a = format!("a.example={}", server.addr);
        let rig = Rig::with(server.addr, |config| {
            config.http.resolve = vec![override_of_a.parse().unwrap()]
        });
        let ran = rig.robots(URL).await;
        assert_eq!(
            (ran.found().code(), ran.found().reason.as_str()),
            (Code::Unreachable, reason),
            "{location}"
        );
        assert!(rig.frontier.errands().is_empty());
    }
    assert_eq!(
        found_of(response(301, "", b"")).await.reason,
        "redirect_without_location"
    );
}

#[tokio::test]
async fn errands_that_cannot_be_placed() {
    let server = Server::always(response(301, "Location: http://b.example/r\r\n", b"")).await;
    let rig = Rig::at(server.addr);
    *rig.frontier.refuse.lock() = Some("too_many_errands".into());
    assert_eq!(rig.robots(URL).await.found().reason, "errand_refused");
    // Its owner is away: the errand travels with the report, in one entry with the waiting.
    rig.frontier.unreachable.store(true, Ordering::SeqCst);
    let ran = rig.robots(URL).await;
    assert_eq!(
        (ran.found().code(), ran.undelivered().len()),
        (Code::Pending, 1)
    );
}

#[tokio::test]
async fn unmodified_rules_stay() {
    let server = Server::always("HTTP/1.1 304 Not Modified\r\n\r\n").await;
    let rig = Rig::at(server.addr);
    let validators = Some(pb::Validators {
        etag: "\"r\"".into(),
        last_modified: String::new(),
    });
    let work = pb::RobotsWork {
        url: URL.into(),
        origin: "http://a.example".into(),
        attempt: 1,
        validators,
    };
    assert_eq!(rig.robots_of(&work).await.found().code(), Code::NotModified);
    assert!(server.heads()[0].contains("if-none-match: \"r\"\r\n"));
    // case G4
    let ran = rig.robots(URL).await;
    assert_eq!(
        (ran.found().code(), ran.found().reason.as_str()),
        (Code::Unreachable, "unexpected_not_modified")
    );
}
