//! Properties: never a panic, the matcher against a naive one, and its cost.

use proptest::prelude::*;

use crate::Robots;
use crate::octets::normal_form;
use crate::pattern::Pattern;

/// The definition, by trying everything: exponential, and obviously right.
fn naive(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|gap| naive(rest, &path[gap..])),
        [octet, rest @ ..] => path.first() == Some(octet) && naive(rest, &path[1..]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn the_matcher_is_the_definition(pattern in "[/*][ab*$/]{0,7}", path in "/[ab$/]{0,8}") {
        let compiled = Pattern::compile(pattern.as_bytes()).unwrap();
        prop_assert_eq!(compiled.matches(path.as_bytes()), naive(pattern.as_bytes(), path.as_bytes()), "{} {}", pattern, path);
    }

    #[test]
    fn cost_is_linear(pattern in "[/*][ab*]{0,200}[$]?", path in "/[ab]{0,2000}") {
        let compiled = Pattern::compile(pattern.as_bytes()).unwrap();
        let mut steps = 0;
        compiled.matches_counted(path.as_bytes(), &mut steps);
        prop_assert!(steps <= 2 * (pattern.len() + path.len()));
    }

    #[test]
    fn a_rule_made_of_a_path_matches_it(path in "/[ -~\u{a0}-\u{24f}]{0,40}") {
        let as_rule = path.replace('*', "%2A").replace('$', "%24");
        let compiled = Pattern::compile(as_rule.as_bytes()).unwrap();
        prop_assert!(compiled.matches(&normal_form(path.as_bytes())));
    }

    #[test]
    fn any_bytes_parse(body in proptest::collection::vec(any::<u8>(), 0..2_000), token in ".{0,20}", path in ".{0,60}") {
        let robots = Robots::parse(&body, &token);
        let verdict = robots.check(&path);
        prop_assert!(verdict.allowed || verdict.rule.is_some());
    }

    #[test]
    fn near_misses_parse(
        lines in proptest::collection::vec("(user-agent|allow|disallow|crawl-delay|sitemap|[a-z ]{0,8})[ :]{0,2}[*/a-c%2F$#.0-9e-]{0,12}[\r\n]{1,2}", 0..40),
        path in "/[a-c%2F*$]{0,12}",
    ) {
        let body: String = lines.concat();
        let robots = Robots::parse(body.as_bytes(), "a");
        let verdict = robots.check(&path);
        prop_assert!(verdict.allowed || verdict.rule.is_some());
        prop_assert_eq!(&robots, &Robots::parse(body.replace('\n', "\r\n").as_bytes(), "a"));
    }

    #[test]
    fn groups_of_others_change_nothing(ours in "(Allow|Disallow): /[ab*]{0,5}", theirs in "(Allow|Disallow): /[ab*]{0,5}", path in "/[ab]{0,6}") {
        let alone = format!("User-agent: us\n{ours}\n");
        let beside = format!("User-agent: them\n{theirs}\n{alone}User-agent: *\n{theirs}\n");
        prop_assert_eq!(
            Robots::parse(alone.as_bytes(), "us").check(&path),
            Robots::parse(beside.as_bytes(), "us").check(&path)
        );
    }
}
