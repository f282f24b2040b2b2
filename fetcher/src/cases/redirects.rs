//! Redirects of pages: candidates, never followed.

use pb::page_outcome::Code;
use proto::frontier_v1 as pb;

use crate::config::FetcherConfig;
use crate::dns::Dns;
use crate::testing::{Reply, Rig, ScriptedNames, Server, page_work, response};

fn redirect(status: u16, location: &str) -> Vec<u8> {
    response(status, &format!("Location: {location}\r\n"), b"moved")
}

/// case A5, case G26: a redirect is a candidate for its own host's clock; nothing is followed.
#[tokio::test]
async fn redirects_are_offered_and_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let server = Server::always(redirect(status, "http://b.example/private#x")).await;
        let rig = Rig::at(server.addr);
        let mut work = page_work("http://a.example/r");
        (work.depth, work.redirect_hops, work.priority) = (3, 1, 40);
        work.metadata.insert("k".into(), "v".into());
        let ran = rig.page_of(&work).await;
        assert_eq!(ran.code(), (Code::Redirect, ""));
        assert_eq!(
            (ran.page().status, ran.page().redirect_target.as_str()),
            (status.into(), "http://b.example/private")
        );
        assert_eq!(server.targets(), ["/r"]);
        let links = rig.frontier.links();
        assert_eq!(links.len(), 1);
        assert_eq!(
            (links[0].depth, links[0].redirect_hops, links[0].priority),
            (3, 2, 40)
        );
        assert_eq!(links[0].metadata.get("k").map(String::as_str), Some("v"));
    }
    for status in [300, 305, 306] {
        let server = Server::always(redirect(status, "http://b.example/")).await;
        let rig = Rig::at(server.addr);
        assert_eq!(
            rig.page("http://a.example/r").await.page().code(),
            Code::HttpError
        );
        assert!(rig.frontier.links().is_empty());
    }
}

/// case G1: a redirect to itself ends; with a cookie it is a wall; the frontier's hop limit is passed on.
#[tokio::test]
async fn redirect_loops_end() {
    let server = Server::start(|target| match target {
        "/wall" => Reply::Bytes(response(302, "Location: /wall\r\nSet-Cookie: a=b\r\n", b"")),
        "/a%2Cb" => Reply::Bytes(redirect(302, "/a%2cb")),
        other => Reply::Bytes(redirect(301, &format!("{other}x"))),
    })
    .await;
    let rig = Rig::at(server.addr);
    assert_eq!(
        rig.page("http://a.example/wall").await.code(),
        (Code::HttpError, "cookie_wall")
    );
    assert_eq!(
        rig.page("http://a.example/a%2Cb").await.code(),
        (Code::HttpError, "redirect_loop")
    );
    *rig.frontier.refuse.lock() = Some("redirect_hops".into());
    assert_eq!(
        rig.page("http://a.example/y").await.code(),
        (Code::Redirect, "redirect_hops")
    );
}

/// case G2: raw bytes and spaces in a Location.
#[tokio::test]
async fn locations_are_resolved_against_the_request() {
    let server = Server::always(redirect(302, "ü x?a b")).await;
    let rig = Rig::at(server.addr);
    let ran = rig.page("http://a.example/d/p?q").await;
    assert_eq!(
        ran.page().redirect_target,
        "http://a.example/d/%C3%BC%20x?a%20b"
    );
    let bare = Server::always(response(302, "", b"")).await;
    assert_eq!(
        Rig::at(bare.addr).page("http://a.example/").await.code(),
        (Code::HttpError, "redirect_without_location")
    );
}

/// case I5: a redirect into private space is a candidate, and refused when its turn comes, before any connection.
#[tokio::test]
async fn private_targets_are_refused_at_their_own_lease() {
    let server = Server::always(redirect(302, "http://169.254.169.254/latest")).await;
    let rig = Rig::at(server.addr);
    let _ = rig.page("http://a.example/").await;
    let target = rig.frontier.link_urls().remove(0);
    let plain = Rig::new(
        FetcherConfig::default(),
        Dns::new(ScriptedNames::new([])),
        &[],
    );
    let ran = plain.page(&target).await;
    assert_eq!(ran.code(), (Code::Refused, "private_address"));
    assert!(ran.wire().nothing_written);
}
