//! Hosts folded into others: nothing is lost, nothing of the old name is fetched, books add up.

use super::{Alias, AliasReply};
use crate::{
    Body, CommandReply, Counter, UrlState,
    command::{
        discover::{DiscoverResult, ItemKind},
        report::{PageCode, ReportResult, RobotsCode},
        set_policy::CrawlPolicy,
    },
    limits,
    testing::*,
};

const OLD: &str = "http://www.a.example/";
const NEW: &str = "http://b.example/";

fn alias(shard: &mut Shard, url: &str, to: &str) -> AliasReply {
    let name = |url: &str| match crate::authority::Authority::of(url) {
        Some((name, _)) => name.to_owned(),
        None => url.to_owned(),
    };
    let body = Body::Alias(Alias {
        host: name(url),
        partition: partition(OLD),
        to: name(to),
        to_partition: partition(NEW),
    });
    match shard.entry(vec![body]).pop() {
        Some(CommandReply::Alias(reply)) => reply,
        other => panic!("{other:?}"),
    }
}

/// URLs in the outbox, in order.
fn outbox(shard: &Shard) -> Vec<String> {
    let due = shard.m.outbox_due(&shard.rows, 1_000).unwrap();
    let url = |item: crate::command::discover::Item| match item.kind {
        Some(ItemKind::Link(link)) => {
            assert_eq!(link.partition, partition(NEW));
            link.url
        }
        other => panic!("{other:?}"),
    };
    due.into_iter().map(|(_, item)| url(item)).collect()
}

#[test]
fn what_waits_travels_and_what_is_new_is_sent_on() {
    let mut shard = Shard::new();
    shard.add(&[
        &format!("{OLD}1"),
        "https://www.a.example:8443/2?x=y",
        "http://x.a.example/",
    ]);
    let reply = alias(&mut shard, OLD, NEW);
    assert_eq!(
        reply,
        AliasReply {
            waiting: 2,
            refused: ""
        }
    );
    assert!(
        shard
            .m
            .next_tick_ms()
            .is_some_and(|due_ms| due_ms <= shard.now_ms)
    );
    shard.rebuild();
    shard.tick();
    let mut moved = outbox(&shard);
    moved.sort();
    assert_eq!(
        moved,
        ["http://b.example/1", "https://b.example:8443/2?x=y"]
    );
    let record = shard.url(&format!("{OLD}1")).unwrap();
    assert_eq!(
        (record.state, &*record.last_reason),
        (UrlState::Removed, "aliased")
    );
    assert_eq!(record.redirect_target, "http://b.example/1");
    let status = shard.m.status();
    assert_eq!((status.terms.removed, status.terms.queued), (2, 1));
    assert_eq!((status.outbox.entered, status.outbox.waiting), (2, 2));
    assert_eq!(shard.counter(Counter::AliasMoved), 2);
    // A new one is answered with its new name and leaves no trace; a seen one is known.
    let new = DiscoverResult::Moved("http://b.example/3".to_owned());
    assert_eq!(shard.offer(link(CRAWL, &format!("{OLD}3"), 1)), new);
    assert_eq!(
        shard.offer(link(CRAWL, &format!("{OLD}1"), 1)),
        DiscoverResult::Known
    );
    assert_eq!(shard.m.status().terms.accepted, 3);
    // The other host of the site goes on; the aliased one is not asked for its robots file.
    let leases = shard.lease(9);
    assert_eq!(leases.len(), 1);
    assert_eq!(shard.host(OLD).alias, "b.example");
    shard.rebuild();
}

#[test]
fn a_lease_ends_first_and_its_url_moves_when_it_comes_back() {
    let mut shard = Shard::new();
    shard.add_allowed(&[&format!("{OLD}1"), &format!("{OLD}2")]);
    let (lease, work) = shard.lease_page();
    alias(&mut shard, OLD, NEW);
    shard.tick();
    assert_eq!(
        outbox(&shard).len(),
        1,
        "what is queued does not wait for the lease"
    );
    let busy = outcome(PageCode::HttpBusy);
    assert_eq!(shard.close(&lease, answered(0), busy), ReportResult::Closed);
    shard.tick();
    assert_eq!(outbox(&shard).len(), 2);
    let record = shard.url(&work.url).unwrap();
    assert_eq!(
        (record.state, &*record.last_reason),
        (UrlState::Removed, "aliased")
    );
    shard.pass(DAY_MS);
    shard.tick();
    assert!(shard.lease(9).is_empty());
    shard.rebuild();
}

#[test]
fn visits_travel_and_done_pages_stay() {
    let mut shard = Shard::new();
    shard.add_allowed(&[&format!("{OLD}done"), &format!("{OLD}visit")]);
    let (lease, done) = shard.lease_page();
    shard.close(&lease, answered(0), stored(1));
    shard.pass(1_000);
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        revisit: true,
        ..CrawlPolicy::default()
    });
    let (lease, visit) = shard.lease_page();
    shard.close(&lease, answered(0), stored(2));
    assert_eq!(alias(&mut shard, OLD, NEW).waiting, 1);
    shard.tick();
    assert_eq!(shard.url(&done.url).unwrap().state, UrlState::Done);
    assert_eq!(shard.url(&visit.url).unwrap().state, UrlState::Removed);
    let terms = shard.m.status().terms;
    assert_eq!((terms.done, terms.scheduled, terms.removed), (1, 0, 1));
    assert_eq!(
        outbox(&shard),
        [visit.url.replace("www.a.example", "b.example")]
    );
    shard.rebuild();
}

#[test]
fn errands_of_others_are_done_and_pages_are_not_leased_beside_them() {
    let mut shard = Shard::new();
    shard.add_allowed(&[&format!("{OLD}1"), &format!("{OLD}2")]);
    let (lease, _) = shard.lease_page();
    let errand = crate::command::discover::Errand {
        url: format!("{OLD}robots.txt"),
        partition: partition(OLD),
        origin: "http://c.example".into(),
        origin_partition: partition("http://c.example/"),
        hop: 1,
        attempt: 1,
        fingerprint: 5,
    };
    assert_eq!(shard.errand(errand), DiscoverResult::New);
    shard.m.meta.outbox_waiting += limits::OUTBOX_ROWS;
    shard.m.meta.outbox_in += limits::OUTBOX_ROWS;
    alias(&mut shard, OLD, NEW);
    shard.close(&lease, answered(0), outcome(PageCode::Requeue));
    assert_eq!(shard.host(OLD).queued, 2, "a full outbox stops the moves");
    for _ in 0..3 {
        shard.pass(60_000);
        let leases = shard.lease(9);
        assert!(leases.len() <= 1);
        for lease in leases {
            assert!(matches!(lease.work, crate::command::lease::Work::Errand(_)));
            shard.release(&lease);
        }
    }
    shard.m.meta.outbox_waiting -= limits::OUTBOX_ROWS;
    shard.m.meta.outbox_in -= limits::OUTBOX_ROWS;
    shard.tick();
    assert_eq!((shard.host(OLD).queued, outbox(&shard).len()), (0, 2));
    shard.rebuild();
}

#[test]
fn moves_are_bounded_and_an_alias_that_ends_lets_the_rest_be_leased() {
    let mut shard = Shard::new();
    let count = limits::MOVES_PER_ENTRY + 5;
    let urls: Vec<String> = (0..count).map(|n| format!("{OLD}{n}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    shard.add(&urls);
    alias(&mut shard, OLD, NEW);
    shard.tick();
    assert_eq!(outbox(&shard).len(), limits::MOVES_PER_ENTRY);
    // This entry moves what is left before it ends the alias.
    assert_eq!(alias(&mut shard, OLD, "").waiting, 0);
    assert_eq!(outbox(&shard).len(), count);
    assert_eq!(shard.host(OLD).alias, "");
    shard.add(&[&format!("{OLD}later")]);
    let (lease, robots) = shard.lease_robots();
    assert_eq!(robots.origin, "http://www.a.example");
    shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
    shard.rebuild();
}

#[test]
fn aliases_that_make_no_sense_are_refused() {
    let mut shard = Shard::new();
    assert_eq!(alias(&mut shard, OLD, OLD).refused, "alias_of_itself");
    assert_eq!(alias(&mut shard, "a b", NEW).refused, "host_name");
    assert_eq!(alias(&mut shard, OLD, "a/b").refused, "target_name");
    assert_eq!(alias(&mut shard, OLD, "").refused, "", "there was none");
    assert_eq!(shard.try_host(OLD), None);
    assert_eq!(alias(&mut shard, OLD, NEW).refused, "");
    let body = Body::Alias(Alias {
        host: "c.example".into(),
        partition: partition("http://c.example/"),
        to: "www.a.example".into(),
        to_partition: partition(OLD),
    });
    let chain = shard.entry(vec![body]).pop();
    let refused = AliasReply {
        refused: "target_is_an_alias",
        ..AliasReply::default()
    };
    assert_eq!(chain, Some(CommandReply::Alias(refused)));
    // It outlives everything else that is known of the host.
    shard.pass(400 * DAY_MS);
    shard.tick();
    assert_eq!(shard.host(OLD).alias, "b.example");
}

#[test]
fn a_url_that_would_be_too_long_ends_with_that_reason() {
    let mut shard = Shard::new();
    let long = format!("{OLD}{}", "x".repeat(limits::URL_SIZE_BYTES - OLD.len()));
    shard.add(&[&long]);
    let name = format!("{}.b.example", "y".repeat(60));
    alias(&mut shard, OLD, &name);
    shard.tick();
    let record = shard.url(&long).unwrap();
    assert_eq!(
        (record.state, &*record.last_reason),
        (UrlState::Refused, "alias_too_long")
    );
    assert!(outbox(&shard).is_empty());
    let longer = format!("{OLD}{}", "z".repeat(limits::URL_SIZE_BYTES - OLD.len()));
    let refused = shard.offer(link(CRAWL, &longer, 1));
    assert!(matches!(refused, DiscoverResult::Refused(_)), "{refused:?}");
}
