//! A perfect crawl of a small web, and what each single fault makes of it.

use super::*;
use ::fakeweb::FakeWebOptions;
use pb::page_outcome::Code;
use pb::url_record::State;

/// What a perfect crawl of a small plain web leaves behind.
fn perfect() -> Evidence {
    let mut options = FakeWebOptions::new(3, 1);
    options.features = ::fakeweb::Features::none();
    options.shape.max_pages_per_host = 4;
    let manifest = Manifest::of(&options).unwrap();
    let mut arrivals = Vec::new();
    let mut at = BTreeMap::new();
    let mut arrive = |host: &str, path: &str, status: u16| {
        let t_ns = at.entry(host.to_owned()).or_insert(0u64);
        *t_ns += 1_000_000_000;
        arrivals.push(Arrival {
            t_ns: *t_ns,
            host: host.to_owned(),
            path: path.to_owned(),
            status,
            conn: 1,
        });
    };
    for host in manifest.hosts.keys() {
        arrive(host, "/robots.txt", 200);
    }
    let mut listed = Vec::new();
    for entry in manifest.entries.values() {
        let path = entry.url.split_once(&entry.host).unwrap().1;
        arrive(&entry.host, path, entry.status.unwrap());
        listed.push(page(
            &entry.url,
            State::Done,
            Code::Stored,
            entry.digest.as_deref(),
        ));
    }
    Evidence {
        arrivals,
        listed,
        manifest,
        shards: vec![shard(&[])],
        pages: PagesRead::default(),
        may_lose_pages: false,
        samples: Vec::new(),
        delay: Duration::from_secs(1),
        attempts: 3,
    }
}

fn page(url: &str, state: State, code: Code, digest: Option<&str>) -> Listed {
    let mut record = pb::UrlRecord {
        url: url.to_owned(),
        status: 200,
        digest: digest
            .map(|d| hex::decode(d).unwrap())
            .unwrap_or_default()
            .into(),
        ..pb::UrlRecord::default()
    };
    record.set_state(state);
    record.set_last_code(code);
    Listed {
        url: url.to_owned(),
        kind: pb::lease_key::Kind::Page,
        record,
    }
}

fn shard(counters: &[(&str, u64)]) -> pb::ShardStatusResponse {
    let counters = counters.iter().map(|(name, n)| ((*name).to_owned(), *n));
    pb::ShardStatusResponse {
        terms: Some(pb::ConservationTerms::default()),
        counters: counters.collect(),
        ..pb::ShardStatusResponse::default()
    }
}

/// A request for the last URL that was asked for, again.
fn again(evidence: &mut Evidence) -> String {
    let mut arrival = evidence.arrivals.last().unwrap().clone();
    arrival.t_ns += 5_000_000_000;
    let url = format!("http://{}{}", arrival.host, arrival.path);
    evidence.arrivals.push(arrival);
    url
}

#[test]
fn a_perfect_crawl_holds_every_promise() {
    let verdict = Verdict::of(perfect());
    assert!(verdict.holds(), "{verdict}");
    assert!(verdict.to_string().ends_with("every promise held"));
}

#[test]
fn a_contact_too_soon_is_seen() {
    let mut evidence = perfect();
    let last = evidence.arrivals.last_mut().unwrap();
    last.t_ns -= 1;
    let verdict = Verdict::of(evidence);
    assert_eq!(
        (verdict.web.totals.early_contacts, verdict.holds()),
        (1, false)
    );
}

#[test]
fn a_repeat_needs_a_lost_lease_or_a_page_put_back() {
    let mut evidence = perfect();
    again(&mut evidence);
    let verdict = Verdict::of(evidence);
    assert_eq!((verdict.repeats, verdict.holds()), (1, false));
    let mut evidence = perfect();
    let url = again(&mut evidence);
    let listed = evidence.listed.iter_mut().find(|listed| listed.url == url);
    listed.unwrap().record.lost_leases = 1;
    assert!(Verdict::of(evidence).holds());
    let mut evidence = perfect();
    again(&mut evidence);
    evidence.shards = vec![shard(&[("pages_requeue", 1)])];
    assert!(Verdict::of(evidence).holds());
}

#[test]
fn a_robots_file_asked_again_needs_a_lost_lease_that_was_not_a_pages() {
    let robots_again = |expired| {
        let mut evidence = perfect();
        let mut arrival = evidence.arrivals[0].clone();
        arrival.t_ns = 100_000_000_000;
        evidence.arrivals.push(arrival);
        evidence.shards = vec![shard(&[("leases_expired", expired)])];
        Verdict::of(evidence).repeats
    };
    assert_eq!((robots_again(0), robots_again(1)), (1, 0));
}

#[test]
fn a_page_is_lost_unless_it_was_answered_or_has_a_reason() {
    let unanswered = |state, reason: &str| {
        let mut evidence = perfect();
        let gone = evidence.arrivals.pop().unwrap();
        let url = format!("http://{}{}", gone.host, gone.path);
        let mut listed = page(&url, state, Code::Unspecified, None);
        listed.record.last_reason = reason.to_owned();
        evidence.listed.retain(|listed| listed.url != url);
        evidence.listed.push(listed);
        Verdict::of(evidence).lost.len()
    };
    assert_eq!(unanswered(State::Refused, "unfetchable"), 0);
    assert_eq!(unanswered(State::Refused, ""), 1);
    assert_eq!(unanswered(State::Done, ""), 1);
    assert_eq!(unanswered(State::Queued, ""), 1);
    let mut evidence = perfect();
    evidence.listed.pop();
    let verdict = Verdict::of(evidence);
    assert_eq!(
        (verdict.lost.len(), verdict.holds()),
        (1, false),
        "no record"
    );
}

#[test]
fn wrong_bytes_and_broken_sums_are_seen() {
    let mut evidence = perfect();
    evidence.listed[0].record.digest = vec![0; 32].into();
    assert!(!Verdict::of(evidence).holds());
    let mut evidence = perfect();
    evidence.shards[0].terms.as_mut().unwrap().accepted = 1;
    let verdict = Verdict::of(evidence);
    assert_eq!((verdict.unconserved.len(), verdict.holds()), (1, false));
}

#[test]
fn a_page_that_cannot_be_read_back_is_lost() {
    let mut evidence = perfect();
    evidence.pages.unreadable = vec!["http://a.example/".to_owned()];
    assert_eq!(Verdict::of(evidence).lost.len(), 1);
    let with_gone = |may_lose_pages| {
        let mut evidence = perfect();
        evidence.pages.gone = vec!["http://a.example/".to_owned()];
        evidence.may_lose_pages = may_lose_pages;
        Verdict::of(evidence).holds()
    };
    assert!(with_gone(true) && !with_gone(false));
}
