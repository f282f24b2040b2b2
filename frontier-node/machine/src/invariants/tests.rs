//! The list here and the list in the document are the same.

use super::*;

const DOCUMENT: &str = include_str!("../../../../docs/INVARIANTS.md");

#[test]
fn numbers_are_in_order_and_in_the_document() {
    let numbers: Vec<_> = STATES
        .iter()
        .map(|one| (one.number, one.name))
        .chain(STEPS.iter().map(|one| (one.number, one.name)))
        .collect();
    for (number, name) in &numbers {
        assert!(
            DOCUMENT.contains(&format!("| {number} | {name} |")),
            "{number} {name}"
        );
    }
    assert!(DOCUMENT.contains("| I18 | memory is what the rows say |"));
    let counted = DOCUMENT
        .lines()
        .filter(|line| line.starts_with("| I"))
        .count();
    assert_eq!(counted, numbers.len() + 1);
}
