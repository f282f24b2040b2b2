//! Cuts of one node and of all nodes at moments spread over a crawl, and the proof that a missing fsync is caught.
//!
//! A test run tries two of each; `ESCAPEMENT_POWER_CUTS` moments of a single crawl go with a sixth as many of each here.

use super::cluster::{Plan, Scope, Trial, trial};
use super::{Library, Mercy};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// Watched calls that every node makes in a whole crawl, its start and its end included; counted once.
static CALLS: OnceLock<u64> = OnceLock::new();

/// What only the names of files with log entries contain: those of the catalogue beside them are synced all the same.
const LOG_FILES: &str = ".log";
/// What only the names of files with pages contain.
const PAGE_FILES: &str = "/pages/pages-";

fn moments() -> u64 {
    let asked = std::env::var("ESCAPEMENT_POWER_CUTS").ok();
    let asked: u64 = asked.and_then(|text| text.parse().ok()).unwrap_or(0);
    (asked / 6).max(2)
}

fn calls_of_a_node(base: &Path, library: &Library) -> u64 {
    *CALLS.get_or_init(|| {
        let plan = Plan {
            scope: Scope::All(1),
            stop_at: 0,
            mercy: Mercy::None,
            lie: "",
        };
        let whole = trial(&base.join("whole"), library, &plan);
        assert!(is_clean(&whole), "without a cut: {whole:#?}");
        assert_eq!(whole.calls.len(), 3, "{whole:?}");
        let least = whole.calls.iter().min();
        *least.filter(|calls| **calls > 100).unwrap()
    })
}

fn is_clean(trial: &Trial) -> bool {
    trial.lost.is_empty() && trial.broken.is_empty()
}

/// Cuts spread evenly over half as many calls again as a crawl has, for more are made while URLs are offered, and off the grid of
/// repeated work by an odd step; node after node.
fn cuts(scope: impl Fn(usize) -> Scope) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let library = Library::build(&base).unwrap();
    let (calls, wanted) = (calls_of_a_node(&base, &library), moments());
    let mut stops: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for moment in 0..wanted {
        let plan = Plan {
            scope: scope(1 + moment as usize % 3),
            stop_at: 3 * (moment + 1) * calls / (2 * wanted) + moment * 7,
            mercy: match moment % 2 {
                0 => Mercy::None,
                _ => Mercy::Seed(moment),
            },
            lie: "",
        };
        let cut = trial(&base.join(format!("cut{moment}")), &library, &plan);
        assert!(is_clean(&cut), "{plan:?}: {cut:#?}");
        assert!(cut.stop.is_some(), "{plan:?}: {cut:#?}");
        let (what, path) = cut.stop.unwrap_or_default();
        let place = format!("{what} {}", path.display());
        stops.entry(place).or_default().push(cut.acknowledged);
    }
    println!(
        "{wanted} cuts, {calls} calls a node and crawl, all clean; URLs acknowledged before each: {stops:?}"
    );
}

#[test]
fn a_power_cut_of_one_node_loses_nothing() {
    cuts(Scope::One);
}

#[test]
fn a_power_cut_of_all_nodes_loses_nothing() {
    cuts(Scope::All);
}

/// Cuts all nodes at moments of a crawl's second half and later, with a lie about one kind of file, until it is caught.
fn caught(lie: &'static str, is_caught: impl Fn(&Trial) -> bool) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let library = Library::build(&base).unwrap();
    let calls = calls_of_a_node(&base, &library);
    (4..=7).any(|quarters| {
        let plan = Plan {
            scope: Scope::All(1),
            stop_at: calls * quarters / 4,
            mercy: Mercy::None,
            lie,
        };
        let cut = trial(&base.join(format!("lie{quarters}")), &library, &plan);
        println!("{plan:?}: {:#?} {:#?}", cut.lost, cut.broken);
        cut.acknowledged > 0 && is_caught(&cut)
    })
}

#[test]
fn a_missing_fsync_of_the_log_on_all_nodes_loses_what_was_acknowledged() {
    let is_forgotten = |what: &String| what.contains("was acknowledged and is not known");
    assert!(caught(LOG_FILES, |cut| cut.lost.iter().any(is_forgotten)));
}

#[test]
fn a_missing_fsync_of_the_page_stores_is_named_at_the_next_start() {
    let is_named = |what: &String| what.contains("/pages/pages-") && what.contains("is damaged");
    assert!(caught(PAGE_FILES, |cut| cut.lost.iter().any(is_named)));
}
