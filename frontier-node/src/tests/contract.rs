//! The same suite in process and over gRPC: both must give the same answers.

use std::sync::Arc;

use client::limits::{DISCOVER_ITEMS, REPORT_ITEMS};
use client::{CallError, Frontier, GrpcFrontier};
use pb::discover_result::Code;
use pb::report_result::Code as ReportCode;
use proto::frontier_v1 as pb;
use tokio::net::TcpListener;

use super::support::*;
use crate::FrontierNode;

/// Runs a test on a node in process, and on another one over gRPC.
async fn on_both<F, Fut>(shards: u64, test: F)
where
    F: Fn(Arc<dyn Frontier>) -> Fut,
    Fut: Future<Output = ()>,
{
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), shards)).await;
    test(node.frontier()).await;
    node.close().await;
    let dir = tempfile::tempdir().unwrap();
    let node = Arc::new(open(options(dir.path(), shards)).await);
    test(over_grpc(&node).await).await;
}

async fn over_grpc(node: &Arc<FrontierNode>) -> Arc<dyn Frontier> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = Arc::clone(node);
    tokio::spawn(async move { server.serve_grpc(listener, false).await });
    Arc::new(GrpcFrontier::new(&address).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_known_and_refused_keep_their_order() {
    on_both(1, |frontier| async move {
        create_crawl(&frontier, 1, 1).await;
        let a = "http://www.a.example/";
        assert_eq!(
            discover(
                &frontier,
                1,
                vec![link(a), link("http://b.example/x"), link(a)]
            )
            .await,
            [Code::New, Code::New, Code::Known]
        );
        let mut wrong_site = link(a);
        if let Some(pb::discover_item::Item::Link(link)) = &mut wrong_site.item {
            link.partition ^= 1;
        }
        let mut spelled = link("http://b.example/y");
        if let Some(pb::discover_item::Item::Link(link)) = &mut spelled.item {
            link.url = "HTTP://b.example:80/y#z".into();
        }
        let items = vec![
            link(a),
            wrong_site,
            spelled,
            link_in(9, "http://c.example/"),
            pb::DiscoverItem { item: None },
        ];
        let response = frontier
            .discover(pb::DiscoverRequest { shard: 1, items })
            .await
            .unwrap();
        let answers: Vec<_> = response
            .results
            .iter()
            .map(|r| (r.code(), r.reason.as_str()))
            .collect();
        assert_eq!(
            answers,
            [
                (Code::Known, ""),
                (Code::Refused, "wrong_partition"),
                (Code::Refused, "not_canonical"),
                (Code::Refused, "unknown_crawl"),
                (Code::Refused, "empty_item"),
            ]
        );
        let status = status(&frontier, 1).await;
        assert_eq!(status.terms.unwrap().accepted, 2);
        assert_conserved(&status);
    })
    .await;
}

// case J17: the same URL in two crawls is two URLs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crawls_do_not_share_urls() {
    on_both(1, |frontier| async move {
        create_crawl(&frontier, 1, 1).await;
        create_crawl(&frontier, 2, 1).await;
        let url = "http://a.example/";
        assert_eq!(
            discover(&frontier, 1, vec![link_in(1, url), link_in(2, url)]).await,
            [Code::New, Code::New]
        );
        let remove = pb::RemoveRequest {
            shard: 1,
            target: Some(pb::remove_request::Target::Url(url.into())),
            crawl: 1,
            partition: partition(url),
            forget: true,
            cursor: Default::default(),
        };
        assert_eq!(frontier.remove(remove).await.unwrap().removed, 1);
        assert_eq!(
            discover(&frontier, 1, vec![link_in(1, url), link_in(2, url)]).await,
            [Code::New, Code::Known]
        );
        assert_conserved(&status(&frontier, 1).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_of_another_shard_are_told_so_one_by_one() {
    on_both(4, |frontier| async move {
        create_crawl(&frontier, 1, 1).await;
        let urls: Vec<String> = (0..64)
            .map(|i| format!("http://site{i}.example/"))
            .collect();
        let mut owned = 0;
        for shard in 1..=4 {
            let codes =
                discover(&frontier, shard, urls.iter().map(|url| link(url)).collect()).await;
            for (url, code) in urls.iter().zip(codes) {
                let expected = if owner(&frontier, url).await == shard {
                    Code::New
                } else {
                    Code::WrongShard
                };
                assert_eq!(code, expected);
                owned += usize::from(code == Code::New);
            }
        }
        assert_eq!(owned, 64);
        let error = frontier
            .discover(pb::DiscoverRequest {
                shard: 99,
                items: vec![],
            })
            .await
            .unwrap_err();
        assert_eq!(error, CallError::WrongShard { map_version: 1 });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_over_a_limit_is_refused_by_name() {
    on_both(1, |frontier| async move {
        let name = |error: CallError| match error {
            CallError::OverLimit { limit, .. } => limit,
            other => other.to_string(),
        };
        let items = vec![link("http://a.example/"); DISCOVER_ITEMS + 1];
        let error = frontier
            .discover(pb::DiscoverRequest { shard: 1, items })
            .await
            .unwrap_err();
        assert_eq!(name(error), "discover_items");
        let long = format!("http://a.example/{}", "x".repeat(8_000));
        let items = vec![link(&long); 600];
        let error = frontier
            .discover(pb::DiscoverRequest { shard: 1, items })
            .await
            .unwrap_err();
        assert_eq!(name(error), "discover_size_bytes");
        let items = vec![pb::Report::default(); REPORT_ITEMS + 1];
        let error = frontier
            .report(pb::ReportRequest { shard: 1, items })
            .await
            .unwrap_err();
        assert_eq!(name(error), "report_items");
        let lease = |change: fn(&mut pb::LeaseRequest)| {
            let mut request = lease_request(1, 1, 0);
            change(&mut request);
            request
        };
        for (request, limit) in [
            (lease(|r| r.max_leases = 257), "max_leases"),
            (lease(|r| r.wait_ms = 60_001), "wait_ms"),
            (lease(|r| r.ttl_ms = 600_001), "ttl_ms"),
        ] {
            assert_eq!(name(frontier.lease(request).await.unwrap_err()), limit);
        }
        for request in [
            lease(|r| r.session = vec![1].into()),
            lease(|r| r.number = 0),
            lease(|r| r.ttl_ms = 1),
        ] {
            assert!(matches!(
                frontier.lease(request).await.unwrap_err(),
                CallError::Invalid { .. }
            ));
        }
    })
    .await;
}

// case B4 and B8 as far as the node is concerned: repeated, unknown and malformed reports are answers, never failures.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_are_answered_item_by_item_and_may_be_repeated() {
    on_both(1, |frontier| async move {
        create_crawl(&frontier, 1, 1).await;
        discover(&frontier, 1, vec![link("http://a.example/")]).await;
        let response = frontier.lease(lease_request(1, 1, 0)).await.unwrap();
        let lease = &response.leases[0];
        assert!(
            matches!(lease.work, Some(pb::lease::Work::Robots(_))),
            "robots come first"
        );
        assert!(lease.remaining_ms > 59_000 && lease.remaining_ms <= 60_000);
        let good = good_report(lease);
        let unknown = pb::Report {
            token: lease.token + 77,
            ..good.clone()
        };
        let malformed = pb::Report {
            outcome: None,
            ..good.clone()
        };
        let results = report(&frontier, 1, vec![malformed, unknown, good.clone()]).await;
        let codes: Vec<_> = results.iter().map(pb::ReportResult::code).collect();
        assert_eq!(
            codes,
            [
                ReportCode::Invalid,
                ReportCode::LeaseLost,
                ReportCode::Closed
            ]
        );
        assert_eq!(
            (results[0].reason.as_str(), results[1].reason.is_empty()),
            ("no_outcome", false)
        );
        let (urls, _) = crawl_all(&frontier, 1, 1).await;
        assert_eq!(urls, ["http://a.example/"]);
        let again = report(&frontier, 1, vec![good]).await;
        assert!(matches!(
            again[0].code(),
            ReportCode::Closed | ReportCode::LeaseLost
        ));
        assert_conserved(&status(&frontier, 1).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_report_repeated_is_answered_as_before() {
    on_both(1, |frontier| async move {
        create_crawl(&frontier, 1, 1).await;
        discover(&frontier, 1, vec![link("http://a.example/")]).await;
        let robots = frontier.lease(lease_request(1, 1, 0)).await.unwrap();
        report(&frontier, 1, vec![good_report(&robots.leases[0])]).await;
        let page = page_lease(&frontier, 2).await;
        let results = report(&frontier, 1, vec![good_report(&page)]).await;
        assert_eq!(results[0].code(), ReportCode::Closed);
        let results = report(&frontier, 1, vec![good_report(&page)]).await;
        assert_eq!(results[0].code(), ReportCode::Closed);
        let done = status(&frontier, 1).await;
        assert_eq!(
            (done.terms.unwrap().done, done.counters["pages_stored"]),
            (1, 1)
        );
    })
    .await;
}

/// Leases until the next page comes.
async fn page_lease(frontier: &Arc<dyn Frontier>, mut number: u64) -> pb::Lease {
    loop {
        let response = frontier
            .lease(lease_request(1, number, 1_000))
            .await
            .unwrap();
        if let Some(lease) = response.leases.first() {
            return lease.clone();
        }
        number += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn released_leases_come_again_under_a_new_token() {
    on_both(1, |frontier| async move {
        create_crawl(&frontier, 1, 1).await;
        discover(&frontier, 1, vec![link("http://a.example/")]).await;
        let first = frontier
            .lease(lease_request(1, 1, 0))
            .await
            .unwrap()
            .leases
            .remove(0);
        let items = vec![pb::ReleaseItem {
            key: first.key,
            token: first.token,
        }];
        let released = frontier
            .release(pb::ReleaseRequest { shard: 1, items })
            .await
            .unwrap();
        assert_eq!(released.results[0].code(), ReportCode::Closed);
        let second = frontier
            .lease(lease_request(1, 2, 1_000))
            .await
            .unwrap()
            .leases
            .remove(0);
        assert_eq!(second.key, first.key);
        assert!(second.token > first.token);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn robots_bodies_are_checked_and_served_by_digest() {
    on_both(1, |frontier| async move {
        create_crawl(&frontier, 1, 1).await;
        discover(&frontier, 1, vec![link("http://a.example/")]).await;
        let lease = frontier
            .lease(lease_request(1, 1, 0))
            .await
            .unwrap()
            .leases
            .remove(0);
        let body: bytes::Bytes = "User-agent: *\nDisallow: /x\n".into();
        let digest: bytes::Bytes = <sha2::Sha256 as sha2::Digest>::digest(&body)
            .to_vec()
            .into();
        let with = |digest: bytes::Bytes| {
            let found = pb::RobotsFound {
                code: pb::robots_found::Code::Rules.into(),
                body: body.clone(),
                digest,
                status: 200,
                ..Default::default()
            };
            let outcome = pb::RobotsOutcome {
                found: Some(found),
                requeue: false,
            };
            pb::Report {
                outcome: Some(pb::report::Outcome::Robots(outcome)),
                ..good_report(&lease)
            }
        };
        let results = report(
            &frontier,
            1,
            vec![with(vec![1; 32].into()), with(digest.clone())],
        )
        .await;
        assert_eq!(
            (results[0].code(), results[0].reason.as_str()),
            (ReportCode::Invalid, "robots_digest")
        );
        assert_eq!(results[1].code(), ReportCode::Closed);
        let page = page_lease(&frontier, 2).await;
        let Some(pb::lease::Work::Page(page)) = page.work else {
            panic!("not a page")
        };
        assert_eq!(page.robots.unwrap().digest, digest);
        let partition = partition("http://a.example/");
        let ask = |digest| {
            frontier.robots_body(pb::RobotsBodyRequest {
                shard: 1,
                partition,
                digest,
            })
        };
        assert_eq!(ask(digest).await.unwrap().body, Some(body));
        assert_eq!(ask(vec![9; 32].into()).await.unwrap().body, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_say_what_is_known() {
    on_both(1, |frontier| async move {
        create_crawl(&frontier, 1, 1).await;
        let url = "http://www.a.example/";
        let get = |url: &str, local| {
            let request = pb::GetUrlRequest {
                shard: 1,
                crawl: 1,
                url: url.into(),
                partition: partition(url),
                local,
            };
            let frontier = Arc::clone(&frontier);
            async move { frontier.get_url(request).await.unwrap() }
        };
        assert_eq!(get(url, false).await.record, None);
        discover(&frontier, 1, vec![link(url)]).await;
        let record = get(url, false).await.record.unwrap();
        assert_eq!(
            (record.state(), record.url.as_str()),
            (pb::url_record::State::Queued, url)
        );
        crawl_all(&frontier, 1, 0).await;
        let record = get(url, true).await.record.unwrap();
        assert_eq!(
            (record.state(), record.status, record.stores),
            (pb::url_record::State::Done, 200, vec![1])
        );
        let request = pb::GetHostRequest {
            shard: 1,
            host: "www.a.example".into(),
            partition: partition(url),
            local: false,
        };
        let host = frontier
            .get_host(request.clone())
            .await
            .unwrap()
            .record
            .unwrap();
        assert_eq!(
            (host.done, host.queued, host.waits_for.as_str()),
            (1, 0, "work")
        );
        let bad = frontier
            .get_host(pb::GetHostRequest {
                partition: 1,
                ..request
            })
            .await
            .unwrap_err();
        assert!(bad.to_string().contains("wrong_partition"), "{bad}");
    })
    .await;
}
