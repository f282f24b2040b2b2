//! The defaults print the project's sizing figures, digit for digit.

use super::Args;
use super::figures::Figures;
use clap::Parser;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

fn value_of(figures: &Figures, name: &str) -> String {
    figures
        .rows()
        .into_iter()
        .find(|(n, _, _)| n.trim() == name)
        .map(|(_, v, _)| v)
        .unwrap_or_default()
}

#[test]
fn defaults_give_the_sizing_figures() {
    let figures = Figures::of(&Command::parse_from(["plan"]).args);
    for (name, expected) in [
        ("fetches", "386 /s"),
        ("fetch fleet sized at", "772 /s"),
        ("hosts", "1000000"),
        ("fingerprints", "80 GB"),
        ("Bloom filter", "12.5 GB"),
        ("on each box", "3.12 GB"),
        ("false positives", "0.82 %"),
        ("open fetches", "386"),
        ("boxes", "4"),
        ("fetched", "38.6 MB/s"),
        ("of a box's card", "3.09 %"),
        ("one host gives at most", "2.59 million pages a month"),
        ("largest site takes", "115.7 days"),
        ("of its pages wait", "7.41 million"),
        ("link checks", "24000 /s"),
        ("of them new", "2400 /s"),
        ("a billion queued URLs", "300 GB"),
        ("pages kept", "200 TB a month"),
    ] {
        assert_eq!(value_of(&figures, name), expected, "{name}");
    }
}

#[test]
fn one_box_more_when_a_single_one_would_do() {
    let figures = Figures::of(&Command::parse_from(["plan", "--pages-per-month", "1000000"]).args);
    assert_eq!(figures.boxes, 2);
}
