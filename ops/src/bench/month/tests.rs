//! A short month with a seed, judged by what hosts saw and by the machine's invariants.
#![allow(clippy::unwrap_used)]

use super::classes::Classes;
use super::crawl::{Crawl, Shape};
use super::sites::{Sites, page_of};
use super::{Args, run};
use clap::Parser;
use machine::ShardId;
use machine::invariants::{View, check_state};
use std::collections::BTreeSet;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

/// Two days, three sites of more pages than they allow.
fn args(more: &[&str]) -> Args {
    let few = ["month", "--hosts", "600", "--days", "2"];
    let sizes = ["--largest-site-pages", "600000"];
    let words = few.iter().chain(&sizes).chain(more);
    Cli::try_parse_from(words).unwrap().args
}

#[test]
fn every_page_of_a_site_is_linked_and_known_by_its_url() {
    let sites = Sites::new(&args(&[]));
    assert_eq!(
        (sites.size(0), sites.size(1), sites.size(599)),
        (6_000, 3_000, 10)
    );
    for site in [1, 599] {
        let mut found = BTreeSet::from([(site, 0)]);
        let mut left = vec![(site, 0)];
        while let Some(page) = left.pop() {
            let own = sites
                .links(page)
                .filter(|(of, page)| *of == site && *page > 0);
            left.extend(own.filter(|page| found.insert(*page)));
        }
        assert_eq!(found.len(), sites.size(site) as usize);
        for page in found {
            assert_eq!(page_of(&sites.link(page).url), Some(page));
        }
    }
}

// case J1: the largest hosts take no more of the fleet than their delay allows, and the small ones are done long before.
#[test]
fn the_largest_hosts_give_what_their_delay_allows_and_the_small_ones_do_not_wait_for_them() {
    let args = args(&["--seed", "7"]);
    let (shape, sites) = (Shape::of(&args), Sites::new(&args));
    let mut crawl = Crawl::new(&sites, shape, shape.open_fetches(&sites)).unwrap();
    crawl.run().unwrap();
    let classes = Classes::of(&sites, crawl.contacts(), shape);
    assert_eq!(crawl.contacts().early(), 0);
    assert!(crawl.contacts().least_gap_ms() >= Some(shape.delay_ms));
    let (got, alone) = (classes.saturated_percent(), classes.alone_percent());
    assert!(
        alone < 100.0 && got > 0.9 * alone && got <= alone,
        "{got} of {alone}"
    );
    let told = classes.detail();
    let small = told.iter().find(|class| class["from_pages"] == 10).unwrap();
    assert_eq!(small["hosts"], small["done_hosts"], "{told:?}");
    let largest = &classes.largest_sites()[0];
    let better = largest["mean_priority_fetched"].as_f64().unwrap();
    assert!(
        better < largest["mean_priority_waiting"].as_f64().unwrap(),
        "{largest}"
    );
    let view = View::read(crawl.rows(), ShardId(1)).unwrap();
    check_state(&view).unwrap();
}

#[test]
fn the_same_seed_gives_the_same_month_and_a_budget_is_never_overspent() {
    let args = args(&["--host-budget-pages", "40"]);
    let (first, second) = (run(&args).unwrap(), run(&args).unwrap());
    for what in [
        "classes",
        "largest_sites",
        "entries",
        "rows",
        "pages_fetched",
    ] {
        assert_eq!(first.detail[what], second.detail[what]);
    }
    let largest = &first.detail["largest_sites"][0];
    // The cycle of thirty days may begin anew once within these two days.
    let fetched = largest["fetched"].as_u64().unwrap();
    assert!((40..=80).contains(&fetched), "{largest}");
}
