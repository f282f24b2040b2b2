//! Conversions there and back, and what is refused on receipt.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use machine::command::{discover as m, lease, report};
use proptest::prelude::*;
use proto::frontier_v1 as pb;
use sha2::{Digest, Sha256};
use urlkey::{FingerprintKey, SuffixList};

use super::*;

fn verifier() -> Verifier {
    Verifier::new(SuffixList::shipped(), FingerprintKey::from_bytes([3; 16]))
}

fn hash(host: &str) -> u64 {
    urlkey::partition_hash(&SuffixList::shipped().site(host)).0
}

fn wrap(item: pb::discover_item::Item) -> pb::DiscoverItem {
    pb::DiscoverItem { item: Some(item) }
}

fn link() -> pb::Link {
    let url = "http://a.example/x".to_owned();
    pb::Link {
        crawl: 1,
        url,
        partition: hash("a.example"),
        priority: 3,
        depth: 2,
        redirect_hops: 1,
        ..Default::default()
    }
}

fn rules(body: &[u8]) -> pb::RobotsFound {
    pb::RobotsFound {
        code: pb::robots_found::Code::Rules.into(),
        body: body.to_vec().into(),
        digest: Sha256::digest(body).to_vec().into(),
        crawl_delay_ms: 2_500,
        status: 200,
        reason: String::new(),
        validators: Some(pb::Validators {
            etag: "\"e\"".into(),
            last_modified: String::new(),
        }),
        no_valid_line: true,
    }
}

proptest! {
    #[test]
    fn links_come_back_as_they_were(
        crawl in 1u32.., path in "[a-z0-9/]{0,40}", priority in any::<u32>(), depth in any::<u32>(),
        metadata in prop::collection::btree_map("[a-z]{1,8}", "\\PC{0,20}", 0..8), key in "[a-z]{0,9}",
    ) {
        let url = format!("https://www.a.example/{path}");
        let link = pb::Link {
            crawl, url, partition: hash("a.example"), priority, depth, redirect_hops: 4, metadata, queue_key: key,
        };
        let item = wrap(pb::discover_item::Item::Link(link));
        let inside = item_from_wire(&verifier(), item.clone()).unwrap();
        prop_assert_eq!(item_to_wire(inside), Some(item));
    }

    #[test]
    fn no_text_makes_a_check_panic(text in "\\PC{0,60}", host in any::<u64>()) {
        let bad = pb::Link { url: text.clone(), partition: host, ..link() };
        prop_assert!(item_from_wire(&verifier(), wrap(pb::discover_item::Item::Link(bad))).is_err());
        let errand = pb::Errand { url: text.clone(), origin: text, ..Default::default() };
        prop_assert!(item_from_wire(&verifier(), wrap(pb::discover_item::Item::Errand(errand))).is_err());
    }
}

#[test]
fn errands_and_results_come_back_as_they_were() {
    let errand = pb::Errand {
        url: "http://b.example/robots.txt".into(),
        partition: hash("b.example"),
        origin: "https://www.a.example:8443".into(),
        origin_partition: hash("a.example"),
        hop: 5,
        attempt: 7,
    };
    let result = pb::ErrandResult {
        origin: errand.origin.clone(),
        origin_partition: errand.origin_partition,
        attempt: 7,
        robots: Some(rules(b"User-agent: *\n")),
    };
    for item in [
        pb::discover_item::Item::Errand(errand),
        pb::discover_item::Item::ErrandResult(result),
    ] {
        let inside = item_from_wire(&verifier(), wrap(item.clone())).unwrap();
        assert_eq!(item_to_wire(inside), Some(wrap(item)));
    }
}

#[test]
fn every_bad_item_is_refused_by_its_rule() {
    let reason = |change: &dyn Fn(&mut pb::Link)| {
        let mut link = link();
        change(&mut link);
        item_from_wire(&verifier(), wrap(pb::discover_item::Item::Link(link)))
            .unwrap_err()
            .0
    };
    assert_eq!(reason(&|l| l.crawl = 0), "unknown_crawl");
    assert_eq!(
        reason(&|l| l.url = "http://A.example/".into()),
        "not_canonical"
    );
    assert_eq!(
        reason(&|l| l.url = "ftp://a.example/".into()),
        "unsupported_scheme"
    );
    assert_eq!(
        reason(&|l| l.url = format!("http://a.example/{}", "x".repeat(9_000))),
        "too_long"
    );
    assert_eq!(reason(&|l| l.partition += 1), "wrong_partition");
    assert_eq!(reason(&|l| l.queue_key = "a\u{1}b".into()), "queue_key");
    assert_eq!(reason(&|l| l.queue_key = "k".repeat(256)), "queue_key");
    assert_eq!(
        reason(&|l| l.metadata = (0..17).map(|i| (i.to_string(), String::new())).collect()),
        "metadata_size"
    );
    assert_eq!(
        reason(&|l| l.metadata = [("k".into(), "v".repeat(4_096))].into()),
        "metadata_size"
    );
    let errand = |change: &dyn Fn(&mut pb::Errand)| {
        let origin_partition = hash("a.example");
        let (url, origin) = (
            "http://a.example/robots.txt".to_owned(),
            "http://a.example".to_owned(),
        );
        let mut errand = pb::Errand {
            url,
            partition: origin_partition,
            origin,
            origin_partition,
            hop: 1,
            attempt: 1,
        };
        change(&mut errand);
        item_from_wire(&verifier(), wrap(pb::discover_item::Item::Errand(errand)))
            .unwrap_err()
            .0
    };
    assert_eq!(errand(&|e| e.hop = 6), "errand_hops");
    assert_eq!(errand(&|e| e.hop = 0), "malformed");
    assert_eq!(
        errand(&|e| e.origin = "http://a.example/x".into()),
        "not_an_origin"
    );
    assert_eq!(errand(&|e| e.origin_partition += 1), "wrong_partition");
}

#[test]
fn a_robots_body_must_have_its_digest() {
    let result = |found: pb::RobotsFound| {
        let origin_partition = hash("a.example");
        let origin = "http://a.example".to_owned();
        let result = pb::ErrandResult {
            origin,
            origin_partition,
            attempt: 1,
            robots: Some(found),
        };
        item_from_wire(
            &verifier(),
            wrap(pb::discover_item::Item::ErrandResult(result)),
        )
        .map_err(|rejected| rejected.0)
    };
    assert!(result(rules(b"x")).is_ok());
    assert_eq!(
        result(pb::RobotsFound {
            body: "y".into(),
            ..rules(b"x")
        }),
        Err("robots_digest")
    );
    assert_eq!(
        result(rules(&vec![b'x'; 500 * 1_024 + 1])),
        Err("robots_body_size")
    );
    let allow = pb::RobotsFound {
        code: pb::robots_found::Code::AllowAll.into(),
        ..rules(b"x")
    };
    assert_eq!(result(allow), Err("robots_body_without_rules"));
    assert_eq!(
        result(pb::RobotsFound {
            code: 0,
            ..rules(b"x")
        }),
        Err("malformed")
    );
}

fn page_report() -> pb::Report {
    pb::Report {
        key: Some(pb::LeaseKey {
            kind: pb::lease_key::Kind::Page.into(),
            partition: 1,
            fingerprint: 2,
        }),
        token: 9,
        contact: None,
        outcome: Some(pb::report::Outcome::Page(pb::PageOutcome {
            code: pb::page_outcome::Code::Stored.into(),
            digest: vec![1; 32].into(),
            ..Default::default()
        })),
        undelivered: Vec::new(),
    }
}

fn with_page(change: impl FnOnce(&mut pb::PageOutcome)) -> Result<report::Report, Rejected> {
    let mut report = page_report();
    if let Some(pb::report::Outcome::Page(page)) = &mut report.outcome {
        change(page);
    }
    report_from_wire(&verifier(), report, &mut 0)
}

#[test]
fn bad_reports_are_refused_by_their_rule() {
    assert!(with_page(|_| ()).is_ok());
    assert_eq!(with_page(|p| p.code = 0), Err(Rejected("page_code")));
    assert_eq!(with_page(|p| p.code = 99), Err(Rejected("page_code")));
    assert_eq!(
        with_page(|p| p.digest = vec![1; 31].into()),
        Err(Rejected("digest_size"))
    );
    assert_eq!(
        with_page(|p| p.digest = Default::default()),
        Err(Rejected("digest_size"))
    );
    assert_eq!(
        with_page(|p| p.reason = "x".repeat(65)),
        Err(Rejected("reason_size"))
    );
    assert_eq!(
        with_page(|p| p.stores = vec![1; 17]),
        Err(Rejected("stores"))
    );
    let no_key = pb::Report {
        key: None,
        ..page_report()
    };
    assert_eq!(
        report_from_wire(&verifier(), no_key, &mut 0),
        Err(Rejected("lease_key"))
    );
    let many = pb::Report {
        undelivered: vec![pb::DiscoverItem::default(); 1_025],
        ..page_report()
    };
    assert_eq!(
        report_from_wire(&verifier(), many, &mut 0),
        Err(Rejected("undelivered_items"))
    );
}

// case B23: an outcome with an over-long header is taken without it, so that the page does not come again for ever.
#[test]
fn over_long_validators_are_dropped_and_the_outcome_kept() {
    let taken = with_page(|page| {
        let etag = "e".repeat(1_000_000);
        page.validators = Some(pb::Validators {
            etag,
            last_modified: "Mon".into(),
        });
        page.redirect_target = "x".repeat(9_000);
    });
    let Some(report::Outcome::Page(page)) = taken.unwrap().outcome else {
        panic!("not a page")
    };
    assert_eq!(
        (
            page.etag.as_str(),
            page.last_modified.as_str(),
            page.redirect_target.as_str()
        ),
        ("", "Mon", "")
    );
}

#[test]
fn a_lease_reply_counts_from_the_entry_that_answers() {
    let key = lease::LeaseKey {
        kind: lease::LeaseKind::Robots.into(),
        partition: 1,
        fingerprint: 2,
    };
    let work = lease::Work::Robots(lease::RobotsWork {
        origin: "http://a.example".into(),
        ..Default::default()
    });
    let leases = vec![lease::Lease {
        key,
        token: 5,
        deadline_ms: 61_000,
        work,
    }];
    let ready = lease::ReadySummary {
        by_class: [1, 0, 0, 0, 0, 0, 0, 2],
        oldest_ready_ms: 9,
        queued: 3,
        leased: 1,
    };
    let reply = lease::LeaseReply::Granted {
        leases,
        repeated: true,
        ready,
        next_ready_in_ms: None,
    };
    let response = lease_response(reply, 2_000, 33).unwrap();
    assert_eq!(
        (
            response.held_ms,
            response.repeated,
            response.next_ready_in_ms
        ),
        (33, true, 0)
    );
    assert_eq!(response.leases[0].remaining_ms, 59_000);
    let Some(pb::lease::Work::Robots(robots)) = &response.leases[0].work else {
        panic!("not robots")
    };
    assert_eq!(robots.url, "http://a.example/robots.txt");
    assert_eq!(response.ready.unwrap().by_class, [1, 0, 0, 0, 0, 0, 0, 2]);
    let stale = lease_response(lease::LeaseReply::Stale { newest: 8 }, 0, 0).unwrap_err();
    assert_eq!(stale, client::CallError::StaleCall { newest_number: 8 });
}

#[test]
fn every_result_has_its_code() {
    use pb::discover_result::Code;
    let refused = m::DiscoverResult::Refused(m::Refusal::Depth);
    let codes = [
        m::DiscoverResult::New,
        m::DiscoverResult::Known,
        refused,
        m::DiscoverResult::WrongShard,
    ]
    .map(|result| discover_result(&result))
    .map(|result| (result.code(), result.reason));
    let expected = [
        (Code::New, ""),
        (Code::Known, ""),
        (Code::Refused, "depth"),
        (Code::WrongShard, ""),
    ];
    assert_eq!(
        codes,
        expected.map(|(code, reason)| (code, reason.to_owned()))
    );
}

#[test]
fn removals_name_their_target() {
    let request = |target| pb::RemoveRequest {
        crawl: 1,
        partition: hash("a.example"),
        target,
        ..Default::default()
    };
    use pb::remove_request::Target;
    assert!(
        remove_from_wire(
            &verifier(),
            request(Some(Target::Url("http://a.example/".into())))
        )
        .is_ok()
    );
    assert!(remove_from_wire(&verifier(), request(Some(Target::Host("a.example".into())))).is_ok());
    assert!(remove_from_wire(&verifier(), request(Some(Target::WholeCrawl(true)))).is_ok());
    assert_eq!(
        remove_from_wire(&verifier(), request(None)),
        Err(Rejected("no target"))
    );
    assert_eq!(
        remove_from_wire(&verifier(), request(Some(Target::Host("A".into())))),
        Err(Rejected("invalid_host"))
    );
}
