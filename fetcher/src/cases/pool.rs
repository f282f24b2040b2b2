//! Whole fetchers over a scripted frontier: every lease ends in one report or release, whatever happens.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pb::page_outcome::Code;
use proto::frontier_v1 as pb;

use crate::Fetcher;
use crate::config::FetcherConfig;
use crate::dns::Dns;
use crate::testing::{
    FakeFrontier, MemoryPages, Reply, Rig, ScriptedNames, Server, html, page_lease,
};

fn fetcher(
    server: &Server,
    change: impl FnOnce(&mut FetcherConfig),
) -> (Fetcher, Arc<FakeFrontier>, Arc<MemoryPages>) {
    let mut config = Rig::config();
    config.http.resolve = vec![format!("*={}", server.addr).parse().unwrap()];
    config.poll_wait_ms = 20;
    change(&mut config);
    let (parts, frontier, pages) = Rig::parts(config, Dns::new(ScriptedNames::new([])), &[]);
    (Fetcher::new(parts).unwrap(), frontier, pages)
}

fn script(frontier: &FakeFrontier, count: u64) {
    frontier
        .ready
        .lock()
        .extend((1..=count).map(|token| page_lease(&format!("http://h{token}.example/"), token)));
}

fn tokens(reports: &[pb::Report]) -> BTreeSet<u64> {
    reports.iter().map(|report| report.token).collect()
}

/// case B28: leases in, ends out; pages fetched are pages stored are pages reported.
#[tokio::test]
async fn every_lease_ends_once() {
    let server = Server::always(html("<a href=/x>x</a>")).await;
    let (fetcher, frontier, pages) = fetcher(&server, |config| config.open_fetches = 16);
    script(&frontier, 200);
    // Answers and reports get lost now and then.
    frontier.lost_answers.store(3, Ordering::SeqCst);
    frontier.failing_reports.store(3, Ordering::SeqCst);
    let (stop, metrics) = (fetcher.stop_handle(), fetcher.metrics());
    let run = tokio::spawn(fetcher.run());
    frontier.ended(200).await;
    stop.cancel();
    assert!(run.await.unwrap());
    let reports = frontier.reports.lock();
    assert_eq!(
        (
            reports.len(),
            tokens(&reports).len(),
            frontier.releases.lock().len()
        ),
        (200, 200, 0)
    );
    assert!(
        reports
            .iter()
            .all(|report| report.contact.unwrap().since_first_byte_ms.is_some())
    );
    assert_eq!(
        (server.heads().len(), pages.captures.lock().len()),
        (200, 200)
    );
    assert_eq!(
        (
            metrics.leases.get(),
            metrics.stored.get(),
            metrics.reports_closed.get()
        ),
        (200, 200, 200)
    );
    assert_eq!(
        (metrics.duplicates.get(), metrics.links_new.get()),
        (199, 200)
    );
    // Numbers rise by one for each call that was answered; a lost answer is asked for again by its number.
    let calls = frontier.lease_calls.lock();
    let mut newest = 0;
    for call in calls.iter() {
        assert!(call.number == newest || call.number == newest + 1);
        newest = call.number;
        assert!(call.max_leases as usize <= 16 && call.session.len() == 16);
    }
    assert!(calls.len() as u64 >= newest + 3);
}

#[tokio::test]
async fn nothing_is_leased_ahead_of_a_free_slot() {
    let server = Server::start(|_| Reply::Hang(Vec::new())).await;
    let (fetcher, frontier, _) = fetcher(&server, |config| config.open_fetches = 3);
    script(&frontier, 10);
    let stop = fetcher.stop_handle();
    let run = tokio::spawn(fetcher.run());
    while frontier.ready.lock().len() > 7 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert_eq!(frontier.ready.lock().len(), 7);
    frontier.ended(10).await;
    stop.cancel();
    assert!(run.await.unwrap());
    assert!(
        frontier
            .lease_calls
            .lock()
            .iter()
            .all(|call| call.max_leases <= 3)
    );
}

/// case B19: a task that panics answers for its lease, at the cost of an attempt.
#[tokio::test]
async fn panics_are_reported() {
    let server = Server::always(html("x")).await;
    let (fetcher, frontier, pages) = fetcher(&server, |_| {});
    pages.panics.store(true, Ordering::SeqCst);
    script(&frontier, 2);
    let (stop, metrics) = (fetcher.stop_handle(), fetcher.metrics());
    let run = tokio::spawn(fetcher.run());
    frontier.ended(2).await;
    stop.cancel();
    assert!(run.await.unwrap());
    assert_eq!(metrics.orphans.get(), 2);
    for report in frontier.reports.lock().iter() {
        let Some(pb::report::Outcome::Page(page)) = &report.outcome else {
            panic!("no page")
        };
        assert_eq!(
            (page.code(), page.reason.as_str()),
            (Code::NetworkError, "fetcher_panic")
        );
        assert!(
            report.contact.unwrap().since_first_byte_ms.is_some(),
            "the host was touched"
        );
    }
}

/// A stop ends what hangs and puts it back at no cost, with the contact it had.
#[tokio::test]
async fn a_stop_puts_back_what_is_open() {
    let server = Server::start(|_| Reply::Hang(Vec::new())).await;
    let (fetcher, frontier, _) = fetcher(&server, |config| {
        config.http.first_byte_timeout_ms = 60_000;
        config.http.fetch_timeout_ms = 60_000;
        config.shutdown_ms = 1_000;
    });
    script(&frontier, 5);
    let stop = fetcher.stop_handle();
    let run = tokio::spawn(fetcher.run());
    while server.heads().len() < 5 {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    assert!(run.await.unwrap());
    let reports = frontier.reports.lock();
    assert_eq!(tokens(&reports).len(), 5);
    for report in reports.iter() {
        let Some(pb::report::Outcome::Page(page)) = &report.outcome else {
            panic!("no page")
        };
        assert_eq!(
            (page.code(), page.reason.as_str()),
            (Code::Requeue, "fetcher_stopped")
        );
        let contact = report.contact.unwrap();
        assert_eq!(
            (contact.nothing_written, contact.since_first_byte_ms),
            (false, None)
        );
    }
}

#[tokio::test]
async fn a_grant_seen_twice_runs_once_and_one_too_short_is_given_back() {
    let server = Server::always(html("x")).await;
    let (fetcher, frontier, _) = fetcher(&server, |_| {});
    let short = pb::Lease {
        remaining_ms: 3_000,
        ..page_lease("http://b.example/", 2)
    };
    frontier.ready.lock().extend([
        page_lease("http://a.example/", 1),
        page_lease("http://a.example/", 1),
        short,
    ]);
    let (stop, metrics) = (fetcher.stop_handle(), fetcher.metrics());
    let run = tokio::spawn(fetcher.run());
    frontier.ended(2).await;
    stop.cancel();
    assert!(run.await.unwrap());
    assert_eq!(server.heads().len(), 1);
    assert_eq!(
        (
            frontier.reports.lock().len(),
            frontier.releases.lock().len()
        ),
        (1, 1)
    );
    assert_eq!(frontier.releases.lock()[0].token, 2);
    assert_eq!(
        (metrics.duplicate_leases.get(), metrics.out_of_time.get()),
        (1, 1)
    );
}

/// case J4: while the store cannot write nothing is leased.
#[tokio::test]
async fn a_full_store_stops_leasing() {
    let server = Server::always(html("x")).await;
    let (fetcher, frontier, pages) = fetcher(&server, |config| config.open_fetches = 1);
    pages.full.store(true, Ordering::SeqCst);
    script(&frontier, 2);
    let stop = fetcher.stop_handle();
    let run = tokio::spawn(fetcher.run());
    frontier.ended(1).await;
    let calls = frontier.lease_calls.lock().len();
    let refused = std::time::Instant::now();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    // On a machine that was held up for longer than the pause there is nothing to see.
    if refused.elapsed().as_millis() < 500 {
        assert_eq!(frontier.ready.lock().len(), 1);
        assert_eq!(frontier.lease_calls.lock().len(), calls);
    }
    pages.full.store(false, Ordering::SeqCst);
    frontier.ended(2).await;
    stop.cancel();
    assert!(run.await.unwrap());
    assert_eq!(pages.captures.lock().len(), 1);
}

/// case B8: a report whose lease was lost is over, and its page may stay; one for another shard is tried again.
#[tokio::test]
async fn lost_leases_end_and_moved_ones_are_tried_again() {
    use pb::report_result::Code as Answer;
    let server = Server::always(html("x")).await;
    let (fetcher, frontier, pages) = fetcher(&server, |config| config.open_fetches = 1);
    *frontier.codes.lock() = [Answer::LeaseLost, Answer::WrongShard, Answer::Closed].into();
    script(&frontier, 2);
    let (stop, metrics) = (fetcher.stop_handle(), fetcher.metrics());
    let run = tokio::spawn(fetcher.run());
    frontier.ended(3).await;
    stop.cancel();
    assert!(run.await.unwrap());
    let sent: Vec<u64> = frontier
        .reports
        .lock()
        .iter()
        .map(|report| report.token)
        .collect();
    assert_eq!(sent, [1, 2, 2]);
    assert_eq!(
        (metrics.reports_lost.get(), metrics.reports_closed.get()),
        (1, 1)
    );
    assert_eq!(pages.captures.lock().len(), 2);
}
