//! A crawl of a fake web, killed and resumed, judged by what the web saw.
//!
//! The long form is `escapement drill kill-crawl --hosts 200 --kills 10`; this is the same with fewer hosts and a shorter delay.

use crate::program::{last_json, run};

#[test]
fn a_crawl_without_kills_meets_its_manifest() {
    let output = run(&[
        "drill",
        "kill-crawl",
        "--hosts",
        "20",
        "--seed",
        "3",
        "--delay",
        "100ms",
        "--kills",
        "0",
        "--max-pages-per-host",
        "12",
        "--json",
    ]);
    let verdict = last_json(&output);
    assert_eq!(verdict["holds"], true, "{verdict}");
    assert_eq!(verdict["repeats"], 0, "{verdict}");
    assert!(
        verdict["web"]["arrivals"].as_u64().unwrap() > 50,
        "{verdict}"
    );
    assert!(output.status.success());
}

#[test]
fn kills_cost_only_what_was_in_flight() {
    let output = run(&[
        "drill",
        "kill-crawl",
        "--hosts",
        "16",
        "--seed",
        "4",
        "--delay",
        "300ms",
        "--kills",
        "3",
        "--kill-after",
        "3s",
        "--lease-ttl",
        "6s",
        "--max-pages-per-host",
        "12",
        "--json",
    ]);
    let verdict = last_json(&output);
    assert_eq!(verdict["holds"], true, "{verdict}");
    assert!(verdict["kills"].as_u64().unwrap() >= 1, "{verdict}");
    assert_eq!(
        (&verdict["early_contacts"], &verdict["lost_urls"]),
        (&0.into(), &0.into()),
        "{verdict}"
    );
}

// case B20
#[test]
fn resuming_twice_or_before_the_seeds_came_spoils_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("crawl");
    std::fs::create_dir_all(&out).unwrap();
    let empty = run(&["crawl", "--out", out.to_str().unwrap()]);
    assert!(
        !empty.status.success(),
        "a directory without seeds is no crawl"
    );
    let mut options = fakeweb::FakeWebOptions::new(4, 6);
    options.shape.max_pages_per_host = 6;
    options.features.robots_errors = false;
    let web = fakeweb::FakeWeb::start(options).unwrap();
    let mut pages = Vec::new();
    for _ in 0..3 {
        let output = crate::program::crawl_command(&web.seed_url, web.addr, &out)
            .output()
            .unwrap();
        let summary = last_json(&output);
        assert_eq!(summary["conserved"], true, "{summary}");
        pages.push((
            summary["pages"].clone(),
            summary["accepted"].clone(),
            web.requests(),
        ));
    }
    assert_eq!(
        (&pages[0], &pages[0]),
        (&pages[1], &pages[2]),
        "a finished crawl asks for nothing again"
    );
}
