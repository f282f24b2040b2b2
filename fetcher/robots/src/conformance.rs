//! RFC 9309 as tables: one body, one agent, many paths. Each table is its own file, by subject.

mod agents;
mod lines;
mod matching;

use crate::Robots;

/// One body and what follows from it.
struct Table {
    /// What it shows, with the section.
    about: &'static str,
    /// The product token that asks.
    agent: &'static str,
    body: &'static str,
    /// Paths and whether each is allowed.
    expect: &'static [(&'static str, bool)],
}

const TABLES: [&[Table]; 3] = [agents::TABLES, lines::TABLES, matching::TABLES];

#[test]
fn every_row_holds() {
    let mut rows = 0;
    let mut wrong = Vec::new();
    for table in TABLES.into_iter().flatten() {
        let robots = Robots::parse(table.body.as_bytes(), table.agent);
        for (path, expected) in table.expect {
            rows += 1;
            let verdict = robots.check(path);
            if verdict.allowed != *expected {
                wrong.push(format!(
                    "{}: {} as {}: {verdict:?}",
                    table.about, path, table.agent
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(rows >= 150, "only {rows} rows");
}
