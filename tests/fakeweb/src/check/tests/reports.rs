//! Outcomes, tables, and the reading of logs.

use super::*;

#[test]
fn outcomes_are_compared_one_by_one() {
    let manifest = manifest();
    let right: Vec<CrawlOutcome> = manifest
        .entries
        .values()
        .map(|entry| CrawlOutcome {
            url: entry.url.clone(),
            outcome: entry.outcome,
            digest: entry.digest.clone(),
        })
        .collect();
    let report = compare_outcomes(right.clone(), &manifest);
    assert!(report.is_clean() && report.totals.right == right.len() as u64);
    let fetched = right
        .iter()
        .position(|said| said.outcome == Outcome::Fetched)
        .unwrap();

    let mut wrong = right.clone();
    wrong[fetched].outcome = Outcome::NotFound;
    let report = compare_outcomes(wrong, &manifest);
    assert_eq!((report.wrong_outcomes.len(), report.totals.wrong), (1, 1));

    let mut wrong = right.clone();
    wrong[fetched].digest = Some("00".repeat(32));
    let report = compare_outcomes(wrong, &manifest);
    assert_eq!((report.wrong_digests.len(), report.totals.wrong), (1, 1));

    let mut wrong = right.clone();
    let lost = wrong.remove(fetched);
    assert_eq!(
        compare_outcomes(wrong, &manifest).missing,
        std::slice::from_ref(&lost.url)
    );

    let mut wrong = right.clone();
    wrong.push(lost.clone());
    assert_eq!(compare_outcomes(wrong, &manifest).duplicates, [lost.url]);

    let mut wrong = right;
    wrong.push(CrawlOutcome {
        url: "http://elsewhere.example/".into(),
        outcome: Outcome::Fetched,
        digest: None,
    });
    let report = compare_outcomes(wrong, &manifest);
    assert_eq!(report.unknown, ["http://elsewhere.example/"]);
    assert!(
        report
            .to_string()
            .starts_with("outcomes: NOT as foreseen\n")
    );
}

#[test]
fn reports_are_readable_by_people_and_programs() {
    let manifest = manifest();
    let mut log = polite(&manifest);
    assert!(
        judge(&log, &manifest)
            .to_string()
            .starts_with("arrivals at the web: clean\n")
    );
    let extra = late(&log, "http://elsewhere.example/", 404);
    log.push(extra);
    let report = judge(&log, &manifest);
    let text = report.to_string();
    assert!(
        text.contains("NOT CLEAN")
            && text.contains("Unknown              http://elsewhere.example/ (404)")
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["totals"]["unexpected"], 1);
    assert_eq!(json["unexpected"][0]["reason"], "unknown");
}

#[test]
fn a_torn_last_line_of_a_log_is_passed_over_and_a_bad_one_is_not() {
    let line = "{\"t_ns\":1,\"host\":\"h\",\"path\":\"/\",\"status\":200,\"conn\":1}\n";
    let torn = format!("{line}{}", &line[..20]);
    assert_eq!(read_arrivals(torn.as_bytes()).unwrap().len(), 1);
    let bad = format!("{}\n{line}", &line[..20]);
    assert!(
        read_arrivals(bad.as_bytes())
            .unwrap_err()
            .to_string()
            .starts_with("arrival log line 1: ")
    );
}
