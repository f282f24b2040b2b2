//! A crawl of a fake web, killed and resumed, judged by what the web saw.
//!
//! The long form is `escapement demo --hosts 200 --kills 10`; this is the same with fewer hosts and a shorter delay.

use crate::program::{last_json, run};

#[test]
fn a_crawl_without_kills_meets_its_manifest() {
    let output = run(&[
        "demo", "--hosts", "20", "--seed", "3", "--delay", "100ms", "--kills", "0", "--max-pages-per-host", "12", "--json",
    ]);
    let verdict = last_json(&output);
    assert_eq!(verdict["holds"], true, "{verdict}");
    assert_eq!(verdict["repeats"], 0, "{verdict}");
    assert!(verdict["web"]["arrivals"].as_u64().unwrap() > 50, "{verdict}");
    assert!(output.status.success());
}

#[test]
fn kills_cost_only_what_was_in_flight() {
    let output = run(&[
        "demo", "--hosts", "16", "--seed", "4", "--delay", "300ms", "--kills", "3", "--kill-after", "3s", "--lease-ttl", "6s",
        "--max-pages-per-host", "12", "--json",
    ]);
    let verdict = last_json(&output);
    assert_eq!(verdict["holds"], true, "{verdict}");
    assert!(verdict["kills"].as_u64().unwrap() >= 1, "{verdict}");
    assert_eq!((&verdict["early_contacts"], &verdict["lost_urls"]), (&0.into(), &0.into()), "{verdict}");
}
