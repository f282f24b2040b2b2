//! From records to the rules of one agent: groups chosen, merged, and the rest forgotten (RFC 9309 section 2.2.1).

use crate::agent::{Audience, audience, leading_token};
use crate::delay::parse_delay_ms;
use crate::limits::{MAX_RULES, MAX_SITEMAP_BYTES, MAX_SITEMAPS};
use crate::record::{Record, lines, record};
use crate::robots::Robots;
use crate::rule::Rule;

/// All groups of one audience, merged.
#[derive(Debug, Default)]
struct Merged {
    seen: bool,
    rules: Vec<Rule>,
    delay_ms: Option<u64>,
}

/// The group being read.
#[derive(Debug, Default)]
struct Open {
    for_us: bool,
    for_everyone: bool,
    delay_ms: Option<u64>,
    /// A rule was read: the next `User-agent` line starts another group. Nothing else closes one (section 2.2.4).
    has_rules: bool,
}

#[derive(Debug, Default)]
struct Parser<'t> {
    token: &'t [u8],
    ours: Merged,
    everyones: Merged,
    open: Open,
    sitemaps: Vec<String>,
    valid_lines: bool,
    noise: bool,
}

/// Parses `body` on behalf of `product_token`.
pub(crate) fn parse(body: &[u8], product_token: &str) -> Robots {
    let mut parser = Parser {
        token: leading_token(product_token.as_bytes()),
        ..Parser::default()
    };
    for line in lines(body) {
        parser.take(record(line));
    }
    parser.finish()
}

impl Parser<'_> {
    fn take(&mut self, record: Record<'_>) {
        match record {
            Record::UserAgent(value) => self.user_agent(value),
            Record::Allow(value) => self.rule(true, value),
            Record::Disallow(value) => self.rule(false, value),
            Record::CrawlDelay(value) => {
                // The largest asked is kind to the host whichever line its owner meant.
                self.open.delay_ms = self.open.delay_ms.max(parse_delay_ms(value));
            }
            Record::Sitemap(value) => self.sitemap(value),
            Record::Blank => return,
            Record::Other => {
                self.noise = true;
                return;
            }
        }
        self.valid_lines = true;
    }

    fn user_agent(&mut self, value: &[u8]) {
        if self.open.has_rules {
            self.close_group();
        }
        match audience(value, self.token) {
            Audience::Us => {
                self.open.for_us = true;
                self.ours.seen = true;
            }
            Audience::Everyone => self.open.for_everyone = true,
            Audience::Other => {}
        }
    }

    fn rule(&mut self, allow: bool, value: &[u8]) {
        self.open.has_rules = true;
        // Once a group speaks to us, those for everyone no longer matter.
        let wanted = self.open.for_us || self.open.for_everyone && !self.ours.seen;
        if !wanted {
            return;
        }
        let Some(rule) = Rule::new(allow, value) else {
            return;
        };
        let group = if self.open.for_us {
            &mut self.ours
        } else {
            &mut self.everyones
        };
        if group.rules.len() < MAX_RULES {
            group.rules.push(rule);
        }
    }

    fn sitemap(&mut self, value: &[u8]) {
        if !value.is_empty()
            && value.len() <= MAX_SITEMAP_BYTES
            && self.sitemaps.len() < MAX_SITEMAPS
        {
            self.sitemaps
                .push(String::from_utf8_lossy(value).into_owned());
        }
    }

    /// Extras of a group are known only at its end, for an agent may be added after them (case D17).
    fn close_group(&mut self) {
        let open = std::mem::take(&mut self.open);
        if open.for_us {
            self.ours.delay_ms = self.ours.delay_ms.max(open.delay_ms);
        }
        if open.for_everyone {
            self.everyones.delay_ms = self.everyones.delay_ms.max(open.delay_ms);
        }
    }

    fn finish(mut self) -> Robots {
        self.close_group();
        let chosen = if self.ours.seen {
            self.ours
        } else {
            self.everyones
        };
        Robots::from_parts(
            chosen.rules,
            chosen.delay_ms,
            self.sitemaps,
            self.valid_lines,
            self.noise,
        )
    }
}
