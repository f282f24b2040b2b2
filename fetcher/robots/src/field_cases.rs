//! The cases from the field that concern parsing and matching, each by its name.

use crate::limits::{MAX_BODY_BYTES, MAX_CRAWL_DELAY_MS, MAX_RULES, MAX_SITEMAPS};
use crate::{Robots, Verdict};

fn parse(body: &str) -> Robots {
    Robots::parse(body.as_bytes(), "mybot")
}

fn allowed(body: &str, path: &str) -> bool {
    parse(body).check(path).allowed
}

/// case A7: the asked value is kept (capping is the owner's policy), fractions round up.
#[test]
fn asked_delays_are_kept_and_rounded_up() {
    assert_eq!(
        parse("User-agent: *\nCrawl-delay: 900").crawl_delay_ms(),
        Some(900_000)
    );
    assert_eq!(
        parse("User-agent: *\nCrawl-delay: 2.5").crawl_delay_ms(),
        Some(2_500)
    );
    assert_eq!(
        parse("User-agent: *\nCrawl-delay: 0.0001").crawl_delay_ms(),
        Some(1)
    );
}

/// case A8: an unusable value is as if the line were not there.
#[test]
fn unusable_delays_are_ignored() {
    for value in ["inf", "-inf", "nan", "-5", "abc", "1,000", "2.5s", ""] {
        let body = format!("User-agent: *\nCrawl-delay: 4\nCrawl-delay: {value}\nDisallow: /x");
        let robots = parse(&body);
        assert_eq!(robots.crawl_delay_ms(), Some(4_000), "{value:?}");
        assert!(!robots.check("/x").allowed);
    }
    assert_eq!(
        parse("User-agent: *\nCrawl-delay: 1e300").crawl_delay_ms(),
        Some(MAX_CRAWL_DELAY_MS)
    );
}

/// case D10: a byte-order mark hides nothing.
#[test]
fn a_byte_order_mark_is_dropped() {
    assert!(
        !Robots::parse(b"\xEF\xBB\xBFUser-agent: *\nDisallow: /", "mybot")
            .check("/x")
            .allowed
    );
}

/// case D11: the first 500 KiB count, an incomplete last line does not.
#[test]
fn the_body_is_capped() {
    let mut body = b"User-agent: *\nDisallow: /early\n".to_vec();
    body.resize(MAX_BODY_BYTES - 9, b'#');
    body.extend(b"\nAllow: /late\nDisallow: /late\n");
    let robots = Robots::parse(&body, "mybot");
    assert!(!robots.check("/early").allowed);
    assert!(robots.check("/late").allowed);
    assert_eq!(robots.check("/late").rule, None);
    assert_eq!(robots.rule_count(), 1);
}

/// case D11: the cap on the body is a cap on rules; a body full of the shortest ones fits.
#[test]
fn the_cap_bounds_rules() {
    let shortest = "allow:/\n";
    assert!(MAX_RULES >= MAX_BODY_BYTES / shortest.len());
    let rules = shortest.repeat(MAX_RULES);
    let robots = parse(&format!("User-agent:*\n{rules}Disallow: /beyond\n"));
    assert_eq!(
        robots.rule_count(),
        1,
        "equal rules are one, and the last lies beyond the cap"
    );
}

/// case D13: encodings of reserved characters keep their meaning; `%2A` and `%24` are literals.
#[test]
fn reserved_encodings_are_not_decoded() {
    let body = "User-agent: *\nDisallow: /*%2F\nDisallow: /file-%2A.html\nDisallow: /cost%24";
    for (path, expected) in [
        ("/a/b", true),
        ("/a%2fb", false),
        ("/file-*.html", false),
        ("/file-%2a.html", false),
        ("/file-x.html", true),
        ("/cost$", false),
        ("/cost%24more", false),
        ("/cost", true),
    ] {
        assert_eq!(allowed(body, path), expected, "{path}");
    }
}

/// case D14: stars, anchors, both; longest match; allow wins ties.
#[test]
fn wildcards_and_precedence() {
    let body =
        "User-agent: *\nDisallow: /*.pdf$\nDisallow: /*?\nDisallow: /tmp$\nDisallow: /p\nAllow: /p";
    for (path, expected) in [
        ("/x.pdf", false),
        ("/x.pdf2", true),
        ("/x.pdf?y", false),
        ("/a?b", false),
        ("/tmp", false),
        ("/tmp/", true),
        ("/page", true),
        ("/", true),
    ] {
        assert_eq!(allowed(body, path), expected, "{path}");
    }
}

/// case D16: consecutive agents share one group.
#[test]
fn consecutive_agents_share_a_group() {
    let body = "User-agent: *\nUser-agent: otherbot\nDisallow: /";
    assert!(!allowed(body, "/x"));
    assert!(
        !Robots::parse(body.as_bytes(), "otherbot")
            .check("/x")
            .allowed
    );
    assert!(!allowed(
        "User-agent: mybot\nUser-agent: otherbot\nDisallow: /",
        "/x"
    ));
}

/// case D17: only allow and disallow close a group; what stands between belongs to all its agents.
#[test]
fn other_records_close_no_group() {
    for between in [
        "Crawl-delay: 5",
        "Sitemap: /s.xml",
        "",
        "Noindex: /q",
        "# note",
        "Host: h.example",
    ] {
        let body = format!("User-agent: mybot\n{between}\nUser-agent: b\nDisallow: /");
        for agent in ["mybot", "b"] {
            let robots = Robots::parse(body.as_bytes(), agent);
            assert!(!robots.check("/x").allowed, "{agent} {between}");
            let delay_ms = between.starts_with("Crawl").then_some(5_000);
            assert_eq!(robots.crawl_delay_ms(), delay_ms, "{agent} {between}");
        }
    }
    let closed = "User-agent: mybot\nDisallow:\nUser-agent: b\nDisallow: /";
    assert!(allowed(closed, "/x"), "an empty rule is a rule, and closes");
}

/// case D19: several groups for one agent are one.
#[test]
fn groups_of_one_agent_merge() {
    let body = "User-agent: mybot\nDisallow: /a\n\nUser-agent: x\nDisallow: /c\n\nUser-agent: MyBot\nDisallow: /b\nCrawl-delay: 3";
    let robots = parse(body);
    assert!(
        !robots.check("/a").allowed && !robots.check("/b").allowed && robots.check("/c").allowed
    );
    assert_eq!(robots.crawl_delay_ms(), Some(3_000));
    let everyone =
        "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /c\nUser-agent: *\nDisallow: /b";
    assert!(!allowed(everyone, "/a") && !allowed(everyone, "/b") && allowed(everyone, "/c"));
}

/// case D20: nothing of `*` leaks into a group of our own, and nothing of another's into `*`.
#[test]
fn extras_do_not_leak() {
    let body = "User-agent: *\nRequest-rate: 1/10\nCrawl-delay: 9\nDisallow: /a\nUser-agent: mybot\nDisallow: /b\n\
                User-agent: z\nCrawl-delay: 60\nDisallow: /";
    let robots = parse(body);
    assert_eq!(robots.crawl_delay_ms(), None);
    assert!(robots.check("/a").allowed && !robots.check("/b").allowed);
    assert_eq!(
        Robots::parse(body.as_bytes(), "nobody").crawl_delay_ms(),
        Some(9_000)
    );
}

/// case D25: fifty thousand agents are read once each and none is kept.
#[test]
fn repeated_agents_cost_their_bytes() {
    let mut body = "User-agent: a\n".repeat(30_000);
    body.push_str("User-agent: mybot\nDisallow: /x\n");
    let robots = parse(&body);
    assert!(!robots.check("/x").allowed);
    assert_eq!(robots.rule_count(), 1);
    let alternating = "User-agent: mybot\nDisallow: /x\n".repeat(10_000);
    assert_eq!(parse(&alternating).rule_count(), 1, "equal rules are one");
    assert_eq!(parse(&"User-agent: mybot\n".repeat(50_000)).rule_count(), 0);
    assert_eq!(
        parse(&"Sitemap: /s\n".repeat(20_000)).sitemaps().len(),
        MAX_SITEMAPS
    );
}

/// case D26: a challenge page holds no record, so it says nothing and must not replace what is known.
#[test]
fn a_challenge_page_is_noise() {
    let page = parse(
        "<!doctype html>\n<html><body style=\"color: red\">\n<p>Just a moment: checking</p>\n</body></html>",
    );
    assert!(!page.has_any_valid_line() && page.is_noise());
    assert!(page.check("/x").allowed);
    for quiet in ["", "\n\n", "# nothing to forbid\n"] {
        assert!(
            !parse(quiet).has_any_valid_line() && !parse(quiet).is_noise(),
            "{quiet:?}"
        );
    }
    let real = parse("User-agent: *\nDisallow: /");
    assert!(real.has_any_valid_line() && !real.is_noise());
}

/// case D28: the parsed form is a value that can be kept, shared between threads, and answers like a fresh one.
#[test]
fn the_parsed_form_is_kept() {
    fn shared<T: Send + Sync + Clone + 'static>(value: &T) -> T {
        value.clone()
    }
    let body: String = std::iter::once("User-agent: *\n".to_owned())
        .chain((0..20_000).map(|i| format!("Disallow: /dir{i}/*x\n")))
        .collect();
    let once = parse(&body);
    let kept = shared(&once);
    for path in ["/dir7/ax", "/dir19999/x", "/dir7/a", "/other"] {
        assert_eq!(kept.check(path), parse(&body).check(path), "{path}");
    }
    assert!(!kept.check("/dir19999/x").allowed);
}

#[test]
fn fixed_policies_and_the_file_itself() {
    assert_eq!(
        Robots::allow_all().check("/x"),
        Verdict {
            allowed: true,
            rule: None
        }
    );
    assert_eq!(
        Robots::disallow_all().check("/x"),
        Verdict {
            allowed: false,
            rule: Some("Disallow: /".into())
        }
    );
    assert!(Robots::disallow_all().check("/robots.txt").allowed);
    assert!(!Robots::disallow_all().check("/robots.txt?x").allowed);
    assert!(
        !Robots::disallow_all().check("").allowed,
        "an empty path is the root"
    );
}

#[test]
fn the_rule_is_named_as_written() {
    let robots = parse("User-agent: *\nDisallow: /%61 # why\nAllow: /a/b*$\n");
    assert_eq!(robots.check("/a").rule.as_deref(), Some("Disallow: /%61"));
    assert_eq!(robots.check("/a/bc").rule.as_deref(), Some("Allow: /a/b*$"));
    assert_eq!(robots.check("/q").rule, None);
}

#[test]
fn sitemaps_are_global_and_as_given() {
    let robots = parse(
        "Sitemap: https://h.example/a.xml\nUser-agent: z\nDisallow: /\nSITEMAP : /rel.xml#part\nSitemap:",
    );
    assert_eq!(robots.sitemaps(), ["https://h.example/a.xml", "/rel.xml"]);
}
