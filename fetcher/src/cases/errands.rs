//! Errands: a robots.txt asked for on another host's behalf.

use std::sync::atomic::Ordering;

use pb::robots_found::Code;
use proto::frontier_v1 as pb;

use crate::outcome::End;
use crate::testing::{Rig, Server, response};

fn errand(url: &str, hop: u32) -> pb::Errand {
    pb::Errand {
        url: url.to_owned(),
        partition: 7,
        origin: "http://origin.example".into(),
        origin_partition: 5,
        hop,
        attempt: 4,
    }
}

/// case D7: what an errand finds is the origin's, and goes to the origin's owner before the errand is closed.
#[tokio::test]
async fn errands_deliver_to_the_origin() {
    let server = Server::always(response(200, "", b"User-agent: *\nDisallow: /\n")).await;
    let rig = Rig::at(server.addr);
    let ran = rig
        .errand(errand("http://big.example/user/robots.txt", 1))
        .await;
    let done = pb::ErrandOutcome {
        delivered: true,
        ..Default::default()
    };
    assert_eq!(
        ran.end,
        End::Report {
            outcome: pb::report::Outcome::Errand(done),
            undelivered: Vec::new()
        }
    );
    let results = rig.frontier.results();
    assert_eq!(
        (
            results.len(),
            results[0].origin.as_str(),
            results[0].origin_partition,
            results[0].attempt
        ),
        (1, "http://origin.example", 5, 4)
    );
    assert_eq!(results[0].robots.as_ref().unwrap().code(), Code::Rules);
    // Its owner is away: the result is among the undelivered.
    rig.frontier.unreachable.store(true, Ordering::SeqCst);
    assert_eq!(
        rig.errand(errand("http://big.example/robots.txt", 1))
            .await
            .undelivered()
            .len(),
        1
    );
}

/// case D8: hops go on as errands, five in all, and no further.
#[tokio::test]
async fn errands_hop_five_times() {
    let server = Server::always(response(302, "Location: http://next.example/r\r\n", b"")).await;
    let rig = Rig::at(server.addr);
    let _ = rig.errand(errand("http://b.example/r", 4)).await;
    assert_eq!(rig.frontier.errands()[0].hop, 5);
    assert!(rig.frontier.results().is_empty());
    let _ = rig.errand(errand("http://b.example/r", 5)).await;
    let result = rig.frontier.results().remove(0).robots.unwrap();
    assert_eq!(
        (result.code(), result.reason.as_str()),
        (Code::Unreachable, "too_many_redirects")
    );
    assert_eq!(rig.frontier.errands().len(), 1);
}

#[tokio::test]
async fn errands_say_when_their_host_failed() {
    for (bytes, failed) in [
        (response(503, "", b""), true),
        (Vec::new(), true),
        (response(404, "", b""), false),
    ] {
        let server = Server::always(bytes).await;
        let ran = Rig::at(server.addr)
            .errand(errand("http://b.example/robots.txt", 1))
            .await;
        let outcome = pb::ErrandOutcome {
            delivered: true,
            requeue: false,
            failed,
        };
        assert_eq!(
            ran.end,
            End::Report {
                outcome: pb::report::Outcome::Errand(outcome),
                undelivered: Vec::new()
            }
        );
    }
}
