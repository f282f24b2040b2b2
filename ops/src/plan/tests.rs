//! The defaults print the project's sizing figures, digit for digit.

#![allow(clippy::unwrap_used)]

use super::Args;
use super::figures::Figures;
use super::measured::Measured;
use super::needs::{Need, needs};
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

const TAKEN: &str = r#""taken":{"at":"2026-11-30T00:00:00.000Z","cores":2,"processor":"p","memory_bytes":1,"load":0.5}"#;

fn needs_by(lines: &[String], words: &[&str]) -> Vec<Need> {
    let args = Command::parse_from(std::iter::once(&"plan").chain(words)).args;
    let measured = Measured::parse(&lines.join("\n"), args.replicas).unwrap();
    needs(&measured, &args, &Figures::of(&args))
}

fn need<'a>(needs: &'a [Need], name: &str) -> &'a Need {
    needs.iter().find(|need| need.name == name).unwrap()
}

#[test]
fn a_need_is_the_newest_figure_times_a_number_of_the_plan() {
    let lines = [
        format!(r#"{{"bench":"n5",{TAKEN},"parameters":{{}},"figure":9.0,"detail":{{}}}}"#),
        format!(r#"{{"bench":"n5",{TAKEN},"parameters":{{}},"figure":10.0,"detail":{{}}}}"#),
        String::new(),
        format!(
            r#"{{"bench":"n10",{TAKEN},"parameters":{{"replicas":3,"shards":32}},"figure":1.6,"detail":{{}}}}"#
        ),
    ];
    let found = needs_by(&lines, &[]);
    let seen = need(&found, "seen set on disk");
    // 10 bytes of each of 10 billion URLs, on three replicas.
    assert_eq!((seen.measured, seen.needed), (Some(10.0), Some(300.0)));
    assert!(seen.taken.as_ref().unwrap().contains("2026-11-30"));
    let idle = need(&found, "idle shards' CPU");
    // 64 shards of three replicas on four boxes.
    assert_eq!(
        (idle.measured, idle.needed),
        (Some(0.05), Some(0.05 * 48.0))
    );
    let unknown = need(&found, "hosts in memory");
    assert!(unknown.needed.is_none() && unknown.row()[1] == "not measured");
}

#[test]
fn an_outcome_of_another_number_of_replicas_does_not_count() {
    let line = format!(
        r#"{{"bench":"n10",{TAKEN},"parameters":{{"replicas":3,"shards":8}},"figure":1.0,"detail":{{}}}}"#
    );
    let found = needs_by(&[line], &["--replicas", "5"]);
    assert!(need(&found, "idle shards' CPU").needed.is_none());
}

#[test]
fn what_is_no_outcome_is_refused_with_its_line() {
    let refused = Measured::parse("\n{\"bench\":1}", 3).unwrap_err();
    assert!(refused.to_string().starts_with("line 2 "), "{refused}");
}

/// Everything that the plan wants was measured, and by a run that says when and where.
#[test]
fn the_shipped_figures_are_those_of_benches() {
    let args = Command::parse_from(["plan"]).args;
    let measured = Measured::read(None, args.replicas).unwrap();
    for need in needs(&measured, &args, &Figures::of(&args)) {
        assert!(need.needed.is_some_and(|value| value > 0.0), "{need:?}");
        assert!(need.taken.is_some_and(|taken| taken.starts_with("20")));
    }
}
