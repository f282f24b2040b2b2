//! From 3 nodes on.

use super::grow;

/// Numbers of nodes in an ordinary test run.
const FEW_NODES: &str = "3,6";

/// Environment: `ESCAPEMENT_SIM_NODES` numbers of nodes, the fewest first; 3,10,30 takes some minutes.
#[test]
fn a_page_costs_about_the_same_on_many_nodes_as_on_few() {
    let numbers = std::env::var("ESCAPEMENT_SIM_NODES").unwrap_or(FEW_NODES.to_owned());
    let numbers = numbers.split(',').map(|nodes| nodes.parse().unwrap());
    let mut found = Vec::new();
    for nodes in numbers {
        let figures = grow(nodes, 1);
        println!("{figures}");
        found.push(figures);
    }
    let few = &found[0];
    for many in &found[1..] {
        let growth = many.nodes as f64 / few.nodes as f64;
        assert!(
            many.pages_per_s > 0.9 * growth * few.pages_per_s,
            "{many:?}"
        );
        // The links of a page go to more shards, at most to one each; and each shard is asked by more fetchers.
        assert!(many.entries_a_page < 2.0 * few.entries_a_page, "{many:?}");
        assert!(
            many.log_bytes_a_page < 2.0 * few.log_bytes_a_page,
            "{many:?}"
        );
        assert!(many.calls_a_page < 3.0 * few.calls_a_page, "{many:?}");
        assert!(many.busiest_log < 2.0, "{many:?}");
    }
}
