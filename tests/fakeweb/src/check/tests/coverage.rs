//! URLs asked for too seldom, too often, or not at all allowed.

use super::*;

#[test]
fn one_missing_url_is_caught() {
    let manifest = manifest();
    let log = polite(&manifest);
    for at in [0, log.len() / 2, log.len() - 1] {
        let mut less = log.clone();
        let gone = less.remove(at);
        let report = judge(&less, &manifest);
        assert_eq!(report.totals.missing, 1, "{report}");
        assert_eq!(
            report.missing[0].url,
            format!("http://{}{}", gone.host, gone.path)
        );
        // Without its robots file, the pages of the host came too soon.
        assert_eq!(report.totals.unexpected > 0, !is_page(&gone));
        let short = CheckOptions {
            complete: false,
            ..CheckOptions::default()
        };
        assert_eq!(check(less, &manifest, &short).totals.missing, 0);
    }
}

#[test]
fn a_url_that_was_only_refused_is_missing() {
    let manifest = manifest();
    let flaky = url_with(&manifest, |entry| entry.retries == 1);
    let mut log = polite(&manifest);
    log.retain(|arrival| {
        format!("http://{}{}", arrival.host, arrival.path) != flaky || arrival.status == 503
    });
    let report = judge(&log, &manifest);
    assert_eq!(counts(&report), (0, 1, 0, 0), "{report}");
    assert_eq!(report.missing[0].arrivals, 1);
}

#[test]
fn one_repeat_is_caught_in_any_spelling_unless_allowed() {
    let manifest = manifest();
    let log = polite(&manifest);
    let url = url_with(&manifest, |entry| {
        entry.outcome == Outcome::Fetched && entry.url.contains("/docs/")
    });
    for spelled in [url.clone(), url.replace("/docs/", "/%64ocs/")] {
        let mut more = log.clone();
        more.push(late(&log, &spelled, 200));
        let report = judge(&more, &manifest);
        assert_eq!(counts(&report), (0, 0, 0, 1), "{report}");
        assert_eq!(
            (report.repeats[0].arrivals, report.repeats[0].allowed),
            (2, 1)
        );
        let mut options = CheckOptions::default();
        options.allowed_repeats.insert(url.clone(), 1);
        assert!(check(more.clone(), &manifest, &options).is_clean());
        // A revisit answered 304 is no other status, but still a repeat.
        more.last_mut().unwrap().status = 304;
        assert_eq!(counts(&judge(&more, &manifest)), (0, 0, 0, 1));
    }
}

#[test]
fn attempts_may_be_allowed_by_outcome_and_for_robots() {
    let manifest = manifest();
    let log = polite(&manifest);
    let broken = url_with(&manifest, |entry| entry.outcome == Outcome::ServerError);
    let mut more = log.clone();
    more.push(late(&log, &broken, 500));
    assert_eq!(counts(&judge(&more, &manifest)), (0, 0, 0, 1));
    let mut options = CheckOptions::default();
    options.attempts.insert(Outcome::ServerError, 2);
    assert!(check(more, &manifest, &options).is_clean());

    let mut more = log.clone();
    more.push(late(&log, "http://h0000.site000.example/robots.txt", 200));
    assert_eq!(counts(&judge(&more, &manifest)), (0, 0, 0, 1));
    let (_, down) = manifest
        .hosts
        .iter()
        .find(|(_, facts)| facts.robots_unreachable)
        .unwrap();
    let mut more = log.clone();
    more.push(late(&log, &down.robots_urls[0], 503));
    assert!(judge(&more, &manifest).is_clean());
}

#[test]
fn each_request_that_should_not_be_is_caught_with_its_reason() {
    let manifest = manifest();
    let log = polite(&manifest);
    let disallowed = url_with(&manifest, |entry| entry.outcome == Outcome::Disallowed);
    let unreachable = url_with(&manifest, |entry| {
        entry.outcome == Outcome::UnreachableRobots
    });
    for (url, reason) in [
        (disallowed.as_str(), Reason::Disallowed),
        (unreachable.as_str(), Reason::UnreachableRobots),
        ("http://h0000.site000.example/trap/comment", Reason::Unknown),
        ("http://elsewhere.example/", Reason::Unknown),
    ] {
        let mut more = log.clone();
        more.push(late(&log, url, 200));
        let report = judge(&more, &manifest);
        assert_eq!(counts(&report), (0, 0, 1, 0), "{report}");
        assert_eq!(
            (
                report.unexpected[0].url.as_str(),
                report.unexpected[0].reason
            ),
            (url, reason)
        );
    }
}

#[test]
fn a_page_before_its_robots_file_is_caught() {
    let manifest = manifest();
    let mut log = polite(&manifest);
    let host = "h0000.site000.example";
    let robots = log
        .iter()
        .position(|arrival| arrival.host == host && !is_page(arrival))
        .unwrap();
    let page = log
        .iter()
        .position(|arrival| arrival.host == host && is_page(arrival))
        .unwrap();
    let robots_ns = log[robots].t_ns;
    log[robots].t_ns = log[page].t_ns;
    log[page].t_ns = robots_ns;
    let report = judge(&log, &manifest);
    assert_eq!(counts(&report), (0, 0, 1, 0), "{report}");
    assert_eq!(report.unexpected[0].reason, Reason::BeforeRobots);
    let options = CheckOptions {
        robots_first: false,
        ..CheckOptions::default()
    };
    assert!(check(log, &manifest, &options).is_clean());
}

#[test]
fn a_status_the_manifest_does_not_foresee_is_caught() {
    let manifest = manifest();
    let mut log = polite(&manifest);
    let place = log
        .iter()
        .position(|arrival| is_page(arrival) && arrival.status == 200)
        .unwrap();
    log[place].status = 500;
    let report = judge(&log, &manifest);
    assert_eq!(counts(&report), (0, 1, 1, 0), "{report}");
    assert_eq!(report.unexpected[0].reason, Reason::WrongStatus);
}
