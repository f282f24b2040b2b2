//! Arrivals that come too soon.

use super::*;

#[test]
fn a_polite_log_is_clean_in_any_order() {
    let manifest = manifest();
    let mut log = polite(&manifest);
    assert!(log.len() > 1000);
    log.reverse();
    let report = judge(&log, &manifest);
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.totals.arrivals, log.len() as u64);
    assert_eq!(report.totals.min_gap_ns, Some(1000 * MS));
    assert_eq!(report.totals.hosts_contacted, 200);
    assert_eq!(report.totals.urls_contacted, report.totals.urls_expected);
}

#[test]
fn one_early_arrival_is_caught_to_the_nanosecond() {
    let manifest = manifest();
    let mut log = polite(&manifest);
    let place = (1..log.len())
        .rfind(|at| log[*at].host == log[at - 1].host && is_page(&log[at - 1]))
        .unwrap();
    log[place].t_ns -= 1;
    let report = judge(&log, &manifest);
    assert_eq!(counts(&report), (1, 0, 0, 0), "{report}");
    let early = &report.early_contacts[0];
    assert_eq!(
        (&early.host, &early.path),
        (&log[place].host, &log[place].path)
    );
    assert_eq!(early.gap_ns + 1, early.required_ns);
}

#[test]
fn a_crawl_delay_counts_between_pages_but_not_before_it_is_known() {
    let manifest = manifest();
    let slowest = |host: &String| manifest.hosts[host].crawl_delay_ms == 3000;
    let mut log = polite(&manifest);
    let place = log
        .iter()
        .position(|arrival| slowest(&arrival.host) && is_page(arrival))
        .unwrap();
    log[place].t_ns -= 500 * MS;
    let report = judge(&log, &manifest);
    assert_eq!(report.early_contacts[0].required_ns, 3000 * MS);
    assert_eq!(counts(&report).0, 1);
    // Another request for a robots file there needs the minimum only.
    let mut log = polite(&manifest);
    let robots = log
        .iter()
        .find(|arrival| slowest(&arrival.host) && !is_page(arrival))
        .unwrap()
        .clone();
    log.push(Arrival {
        t_ns: robots.t_ns - 1000 * MS,
        ..robots
    });
    let report = judge(&log, &manifest);
    assert_eq!(counts(&report), (0, 0, 0, 1), "{report}");
}

#[test]
fn a_retry_after_must_be_kept() {
    let manifest = manifest();
    let mut log = polite(&manifest);
    let refused = log
        .iter()
        .find(|arrival| arrival.status == 503 && is_page(arrival))
        .unwrap()
        .clone();
    let next = log
        .iter_mut()
        .filter(|arrival| arrival.host == refused.host && arrival.t_ns > refused.t_ns);
    next.min_by_key(|arrival| arrival.t_ns).unwrap().t_ns = refused.t_ns + 1500 * MS;
    let report = judge(&log, &manifest);
    assert_eq!(counts(&report).0, 1, "{report}");
    assert_eq!(report.early_contacts[0].required_ns, 2000 * MS);
}
