//! Cuts at moments spread over a crawl, and the proof that a missing fsync is caught.
//!
//! `ESCAPEMENT_POWER_CUTS` sets how many moments are tried (default 6 in a test run; `make power-cut` tries many).

use super::crawl::{calls_of_a_crawl, trial};
use super::{Library, Mercy};
use std::collections::BTreeMap;

fn moments() -> u64 {
    std::env::var("ESCAPEMENT_POWER_CUTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(6)
}

#[test]
fn a_power_cut_at_any_step_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let library = Library::build(&base).unwrap();
    let calls = calls_of_a_crawl(&base.join("whole"), &library, 1);
    assert!(calls > 100, "{calls} watched calls");
    let mut stops: BTreeMap<String, u64> = BTreeMap::new();
    let wanted = moments();
    for moment in 0..wanted {
        // Spread evenly, off the grid of repeated work by an odd step.
        let stop_at = 1 + (moment * calls / wanted + moment * 7) % calls;
        let mercy = if moment % 2 == 0 {
            Mercy::None
        } else {
            Mercy::Seed(moment)
        };
        let cut = trial(
            &base.join(format!("cut{moment}")),
            &library,
            1,
            stop_at,
            mercy,
            "",
        );
        let place = cut.stop.as_ref().map_or("end".to_owned(), |(what, path)| {
            let part = path
                .iter()
                .take(2)
                .map(|p| p.to_string_lossy())
                .collect::<Vec<_>>()
                .join("/");
            format!("{what} {part}")
        });
        assert!(
            cut.broken.is_empty(),
            "cut before call {stop_at} ({place}, {mercy:?}): {:#?}",
            cut.broken
        );
        *stops.entry(place).or_default() += 1;
    }
    println!("{wanted} cuts over {calls} calls, all clean: {stops:#?}");
}

/// Tries cuts with a lie about one kind of file until one is caught.
fn caught(lie: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let library = Library::build(&base).unwrap();
    let calls = calls_of_a_crawl(&base.join("whole"), &library, 1);
    (1..=6).any(|sixth| {
        let stop_at = calls * sixth / 7;
        let cut = trial(
            &base.join(format!("lie{sixth}")),
            &library,
            1,
            stop_at,
            Mercy::None,
            lie,
        );
        if !cut.broken.is_empty() {
            println!(
                "a sync of {lie:?} left out is caught by a cut before call {stop_at}: {:#?}",
                cut.broken
            );
        }
        !cut.broken.is_empty()
    })
}

#[test]
fn a_missing_fsync_of_the_log_is_caught() {
    assert!(caught("/frontier/log/"));
}

#[test]
fn a_missing_fsync_of_the_page_store_is_caught() {
    assert!(caught("/pages/pages-"));
}
