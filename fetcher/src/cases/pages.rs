//! Page cycles: what is asked, what is followed, what is said.

use std::sync::atomic::Ordering;

use page_store::Digest;
use pb::page_outcome::Code;
use proto::frontier_v1 as pb;

use crate::deadline::{BootInstant, Deadline};
use crate::outcome::End;
use crate::scope::{CrawlRules, Scope};
use crate::testing::{Reply, Rig, Server, html, page_work, response};

/// case G4: 304 to a request that asked nothing.
#[tokio::test]
async fn unexpected_304() {
    let server = Server::always("HTTP/1.1 304 Not Modified\r\n\r\n").await;
    let rig = Rig::at(server.addr);
    assert_eq!(
        rig.page("http://a.example/").await.code(),
        (Code::NetworkError, "unexpected_not_modified")
    );
    assert!(rig.pages.captures.lock().is_empty() && rig.pages.unmodified.lock().is_empty());
    // Validators without a stored payload are not sent: an answer 304 would leave us with nothing.
    let mut work = page_work("http://a.example/");
    work.validators = Some(pb::Validators {
        etag: "\"x\"".into(),
        last_modified: String::new(),
    });
    assert_eq!(
        rig.page_of(&work).await.code(),
        (Code::NetworkError, "unexpected_not_modified")
    );
    assert!(
        server
            .heads()
            .iter()
            .all(|head| !head.to_lowercase().contains("if-none-match"))
    );
}

/// case G5, case G7, case G8: validators are echoed, and a 304 keeps digest and validators.
#[tokio::test]
async fn not_modified_keeps_everything() {
    let server = Server::always("HTTP/1.1 304 Not Modified\r\nETag: \"new\"\r\n\r\n").await;
    let rig = Rig::at(server.addr);
    let mut work = page_work("http://a.example/");
    let date = "Thu, 01 Jan 2099 00:00:00 GMT";
    work.validators = Some(pb::Validators {
        etag: "W/\"old\"".into(),
        last_modified: date.into(),
    });
    work.digest = Digest::of(b"page").0.to_vec().into();
    let ran = rig.page_of(&work).await;
    assert_eq!(ran.code(), (Code::NotModified, ""));
    assert_eq!(ran.page().digest, work.digest);
    assert_eq!(
        ran.page().validators,
        Some(pb::Validators {
            etag: "\"new\"".into(),
            last_modified: date.into()
        })
    );
    assert_eq!(rig.pages.unmodified.lock()[0].digest, Digest::of(b"page"));
    let head = &server.heads()[0];
    assert!(
        head.contains("if-none-match: W/\"old\"\r\n")
            && head.contains(&format!("if-modified-since: {date}\r\n")),
        "{head}"
    );
}

/// case G22: no cookie, no credentials, no referer, ever; and nothing but what is meant to be there.
#[tokio::test]
async fn requests_carry_nothing_they_should_not() {
    let server =
        Server::start(|_| Reply::Bytes(response(200, "Set-Cookie: id=1; Path=/\r\n", b"x"))).await;
    let rig = Rig::with(server.addr, |config| {
        config.http.contact = "ops@crawl.example".into()
    });
    for path in ["/1", "/2", "/robots.txt"] {
        let _ = rig.page(&format!("http://a.example{path}")).await;
    }
    for head in server.heads() {
        let mut lines: Vec<&str> = head
            .split("\r\n")
            .filter(|line| !line.is_empty())
            .skip(1)
            .collect();
        lines.sort_unstable();
        let expected = [
            "accept-encoding: gzip, deflate, br, zstd",
            "accept: */*",
            "host: a.example",
            "user-agent: Escapement/0.1 (+ops@crawl.example)",
        ];
        assert_eq!(lines, expected);
    }
}

/// case C16: a URL with user information is not canonical, so no lease of it is ever asked for.
#[tokio::test]
async fn user_information_is_never_sent() {
    let server = Server::always(html("<a href='http://u@x:p@q@a.example/next'>x</a>")).await;
    let rig = Rig::at(server.addr);
    let ran = rig.page("http://user:secret@a.example/").await;
    assert_eq!(ran.code(), (Code::Refused, "invalid_url"));
    assert!(server.heads().is_empty() && ran.wire().nothing_written);
    let _ = rig.page("http://a.example/").await;
    assert_eq!(rig.frontier.link_urls(), ["http://a.example/next"]);
}

/// case B23: a URL that differs from its canonical form is refused under the lease it came with.
#[tokio::test]
async fn outcomes_belong_to_their_lease() {
    let rig = Rig::at(Server::always(html("")).await.addr);
    assert_eq!(
        rig.page("http://example.com/a ").await.code(),
        (Code::Refused, "invalid_url")
    );
}

#[tokio::test]
async fn links_in_scope_go_out_once() {
    let page = "<a href=/1>1</a><a href=/1#x>1</a><a href='//b.example/2'>2</a><a href=/3 rel=nofollow>3</a><a href='#top'>self</a>\
                <a href='mailto:a@b'>m</a>";
    let server = Server::always(html(page)).await;
    let mut rig = Rig::at(server.addr);
    let scope = Scope::Hosts(["a.example".to_owned()].into());
    rig.ctx.crawls.rules.insert(
        1,
        CrawlRules {
            scope,
            ..Default::default()
        },
    );
    let mut work = page_work("http://a.example/");
    (work.depth, work.priority) = (2, 9);
    assert_eq!(rig.page_of(&work).await.code(), (Code::Stored, ""));
    assert_eq!(rig.frontier.link_urls(), ["http://a.example/1"]);
    let link = rig.frontier.links().remove(0);
    assert_eq!(
        (link.crawl, link.depth, link.redirect_hops, link.priority),
        (1, 3, 0, 9)
    );
    // Acknowledged links do not travel again.
    let _ = rig.page_of(&work).await;
    assert_eq!(rig.frontier.links().len(), 1);
    assert_eq!(rig.ctx.metrics.links_known.get(), 1);
    // A redirect that leaves the crawl is named, and not offered.
    let away = Server::always(response(301, "Location: http://b.example/\r\n", b"")).await;
    let mut rig = Rig::at(away.addr);
    let scope = Scope::Hosts(["a.example".to_owned()].into());
    rig.ctx.crawls.rules.insert(
        1,
        CrawlRules {
            scope,
            ..Default::default()
        },
    );
    assert_eq!(
        rig.page("http://a.example/").await.code(),
        (Code::Redirect, "out_of_scope")
    );
    assert!(rig.frontier.links().is_empty());
}

#[tokio::test]
async fn undelivered_links_travel_with_the_report_and_are_not_taken_as_known() {
    let server = Server::always(html("<a href=/1>1</a><a href=/2>2</a>")).await;
    let rig = Rig::at(server.addr);
    rig.frontier.unreachable.store(true, Ordering::SeqCst);
    let ran = rig.page("http://a.example/").await;
    assert_eq!(
        (ran.page().code(), ran.undelivered().len()),
        (Code::Stored, 2)
    );
    rig.frontier.unreachable.store(false, Ordering::SeqCst);
    let _ = rig.page("http://a.example/").await;
    assert_eq!(rig.frontier.links().len(), 2);
}

#[tokio::test]
async fn a_page_has_a_cap_of_links() {
    let page: String = (0..50).map(|n| format!("<a href=/{n}>x</a>")).collect();
    let server = Server::always(html(&page)).await;
    let rig = Rig::with(server.addr, |config| config.max_links_a_page = 20);
    let _ = rig.page("http://a.example/").await;
    assert_eq!(
        (
            rig.frontier.links().len(),
            rig.ctx.metrics.links_dropped.get()
        ),
        (20, 30)
    );
}

#[tokio::test]
async fn noindex_is_stored_and_said() {
    let server = Server::always(html("<meta name=robots content=noindex><a href=/1>1</a>")).await;
    let rig = Rig::at(server.addr);
    assert_eq!(
        rig.page("http://a.example/").await.code(),
        (Code::Stored, "noindex")
    );
    assert_eq!(rig.frontier.links().len(), 1);
    let held = Server::always(html(
        "<meta name=robots content='noindex, nofollow'><a href=/1>1</a>",
    ))
    .await;
    let rig = Rig::at(held.addr);
    assert_eq!(
        rig.page("http://a.example/").await.code(),
        (Code::Stored, "noindex")
    );
    assert!(rig.frontier.links().is_empty());
}

#[tokio::test]
async fn rules_are_asked_before_the_host_is() {
    let server = Server::always(html("x")).await;
    let rig = Rig::at(server.addr);
    rig.frontier
        .robots
        .lock()
        .insert(vec![1], b"User-agent: escapement\nDisallow: /no\n".to_vec());
    let mut work = page_work("http://a.example/no?x");
    work.robots = Some(pb::RobotsReference {
        state: pb::robots_reference::State::Rules.into(),
        digest: vec![1].into(),
    });
    let ran = rig.page_of(&work).await;
    assert_eq!(ran.code(), (Code::Disallowed, "robots_txt"));
    assert!(ran.wire().nothing_written && server.heads().is_empty());
    work.url = "http://a.example/yes".into();
    assert_eq!(rig.page_of(&work).await.code(), (Code::Stored, ""));
    // One body, parsed once.
    assert_eq!(rig.ctx.metrics.robots_bodies.get(), 1);
    // Rules that are gone, or none named: nothing is fetched on a guess.
    work.robots = Some(pb::RobotsReference {
        state: pb::robots_reference::State::Rules.into(),
        digest: vec![2].into(),
    });
    assert_eq!(rig.page_of(&work).await.end, End::Release);
    work.robots = None;
    assert_eq!(rig.page_of(&work).await.end, End::Release);
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test]
async fn busy_hosts_say_how_long() {
    let date =
        "Date: Sun, 06 Nov 1994 12:00:00 GMT\r\nRetry-After: Sun, 06 Nov 1994 12:01:00 GMT\r\n";
    for (status, fields, wait_ms) in [
        (429, "Retry-After: 7\r\n", 7_000),
        (503, date, 60_000),
        (500, "", 0),
        (429, "Retry-After: -5\r\n", 0),
    ] {
        let server = Server::always(response(status, fields, b"")).await;
        let ran = Rig::at(server.addr).page("http://a.example/").await;
        assert_eq!(
            (ran.page().code(), ran.wire().retry_after_ms),
            (Code::HttpBusy, wait_ms)
        );
    }
}

/// case J4: a store that cannot write pauses leasing; the page comes again, and no link of it has gone out.
#[tokio::test]
async fn a_full_store_requeues_and_pauses() {
    let server = Server::always(html("<a href=/1>1</a>")).await;
    let rig = Rig::at(server.addr);
    rig.pages.full.store(true, Ordering::SeqCst);
    let ran = rig.page("http://a.example/").await;
    assert_eq!(ran.code(), (Code::Requeue, "store_unavailable"));
    assert!(
        ran.wire().since_first_byte_ms.is_some(),
        "the host's clock moves all the same"
    );
    assert!(rig.ctx.pause.is_on() && rig.frontier.links().is_empty());
    rig.pages.full.store(false, Ordering::SeqCst);
    assert_eq!(
        rig.page("http://a.example/").await.code(),
        (Code::Stored, "")
    );
    assert!(!rig.ctx.pause.is_on());
}

#[tokio::test]
async fn nothing_starts_late() {
    let server = Server::always(html("x")).await;
    let mut rig = Rig::at(server.addr);
    // A whole fetch would not fit.
    rig.deadline = Deadline::at(BootInstant::now().plus_ms(4_900));
    let ran = rig.page("http://a.example/").await;
    assert_eq!(ran.end, End::Release);
    assert!(ran.wire().nothing_written && server.heads().is_empty());
    assert_eq!(rig.ctx.metrics.out_of_time.get(), 1);
}

#[tokio::test]
async fn memory_for_bodies_is_shared_and_bounded() {
    let server = Server::always(html(&"x".repeat(10_000))).await;
    let rig = Rig::with(server.addr, |config| {
        config.http.max_decoded_bytes = 9_000;
        // One body of that size, as often as it may be in memory at once.
        config.body_budget_bytes = 4 * 9_000;
    });
    let ran = rig.page("http://a.example/").await;
    assert_eq!(
        (ran.page().code(), ran.page().truncated),
        (Code::Stored, true)
    );
    let small = rig.ctx.budget.body();
    drop(small);
    let mut hog = rig.ctx.budget.body();
    hog.push(&[0; 5_000]).unwrap();
    assert_eq!(
        rig.page("http://a.example/").await.code(),
        (Code::Requeue, "memory_budget")
    );
    drop(hog);
    assert_eq!(
        rig.page("http://a.example/").await.page().code(),
        Code::Stored
    );
}
