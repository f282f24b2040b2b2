//! Runs of the simulator: the same seed twice, a few seeds in every test run, many on request, and bugs put back.

use super::bug::Bug;
use super::run::{Outcome, run};

/// Seeds of an ordinary test run.
const FEW_SEEDS: u64 = 20;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in [1, 2] {
        let (first, second) = (run(seed, None, false), run(seed, None, false));
        assert!(first.trace.events > 10_000, "{} events", first.trace.events);
        assert_eq!(first.trace, second.trace);
    }
}

#[test]
fn seeds_run_clean() {
    let first = number("ESCAPEMENT_SIM_FIRST_SEED", 1);
    let count = number("ESCAPEMENT_SIM_SEEDS", FEW_SEEDS);
    let is_loud = std::env::var("ESCAPEMENT_SIM_LOUD").is_ok();
    let started = std::time::Instant::now();
    let mut totals = Totals::default();
    for seed in first..first + count {
        let outcome = run(seed, None, is_loud);
        assert!(outcome.is_clean(), "{}", outcome.story());
        totals.add(&outcome);
        if totals.seeds.is_multiple_of(100) {
            println!("{totals:?} in {:?}", started.elapsed());
        }
    }
    println!("{totals:?} in {:?}", started.elapsed());
    assert!(totals.contacts > 0 && totals.faults > 0 && totals.checks > 0);
}

/// Sums over seeds.
#[derive(Debug, Default)]
struct Totals {
    seeds: u64,
    virtual_ms: u64,
    events: u64,
    faults: u64,
    checks: u64,
    leases: u64,
    lost_reports: u64,
    contacts: u64,
    accepted: u64,
}

impl Totals {
    fn add(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.virtual_ms += outcome.virtual_ms;
        self.events += outcome.trace.events;
        self.faults += outcome.faults;
        self.checks += outcome.checks;
        self.leases += outcome.leases;
        self.lost_reports += outcome.lost_reports;
        self.contacts += outcome.contacts;
        self.accepted += outcome.accepted;
    }
}

#[test]
#[ignore = "looks for seeds that catch each bug; run by hand when the simulator changes"]
fn find_seeds_that_catch() {
    for bug in Bug::ALL {
        let mut caught = Vec::new();
        for seed in 1..=number("ESCAPEMENT_SIM_SEEDS", 60) {
            let outcome = run(seed, Some(bug), false);
            if let Some(first) = outcome.trace.violations.first() {
                println!("{bug:?} seed {seed}: {first}");
                caught.push(seed);
            }
            if caught.len() == 3 {
                break;
            }
        }
        println!("{bug:?}: {caught:?}");
    }
}
