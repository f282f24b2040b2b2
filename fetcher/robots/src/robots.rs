//! The parsed rules of one agent, and the question they answer.

use crate::octets::normal_form;
use crate::rule::Rule;

/// What one robots.txt says to one agent. Parse once per body and agent, keep it, ask it for every URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Robots {
    /// Sorted so that the first that matches decides.
    rules: Box<[Rule]>,
    crawl_delay_ms: Option<u64>,
    sitemaps: Box<[String]>,
    valid_lines: bool,
    noise: bool,
}

/// The answer for one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The path may be fetched.
    pub allowed: bool,
    /// The rule that decided, as `Allow: <value>` or `Disallow: <value>` with the value as written; none if no rule matched
    /// (then the path is allowed) or the path is `/robots.txt` itself.
    pub rule: Option<String>,
}

impl Robots {
    /// Parses `body` for the agent whose product token is the leading `[A-Za-z_-]+` of `product_token`, compared without
    /// case. All groups that name it are merged; if none does, those of `*` are. Never fails: every line that can be
    /// read counts, the others do not (RFC 9309 section 2.3.1.5). Limits in [`crate::limits`].
    #[must_use]
    pub fn parse(body: &[u8], product_token: &str) -> Self {
        crate::parse::parse(body, product_token)
    }

    /// No rules: what holds where robots.txt is unavailable (4xx, section 2.3.1.3).
    #[must_use]
    pub fn allow_all() -> Self {
        Self::from_parts(Vec::new(), None, Vec::new(), true, false)
    }

    /// Everything but `/robots.txt` forbidden: what holds where robots.txt is unreachable (section 2.3.1.4).
    #[must_use]
    pub fn disallow_all() -> Self {
        Self::from_parts(
            Rule::new(false, b"/").into_iter().collect(),
            None,
            Vec::new(),
            true,
            false,
        )
    }

    pub(crate) fn from_parts(
        mut rules: Vec<Rule>,
        crawl_delay_ms: Option<u64>,
        sitemaps: Vec<String>,
        valid_lines: bool,
        noise: bool,
    ) -> Self {
        rules.sort_by_cached_key(Rule::precedence);
        rules.dedup_by(|a, b| a.allow == b.allow && a.pattern == b.pattern);
        Self {
            rules: rules.into(),
            crawl_delay_ms,
            sitemaps: sitemaps.into(),
            valid_lines,
            noise,
        }
    }

    /// May this path be fetched? `path_and_query` starts at the path's `/`; a fragment is ignored, an empty path is `/`.
    ///
    /// The rule with the most octets in normal form decides, `Allow` wins ties, no match allows (section 2.2.2).
    #[must_use]
    pub fn check(&self, path_and_query: &str) -> Verdict {
        let path = path_and_query.split('#').next().unwrap_or_default();
        let mut normal = normal_form(path.as_bytes());
        if normal.first() != Some(&b'/') {
            normal.insert(0, b'/');
        }
        if normal == b"/robots.txt" {
            return Verdict {
                allowed: true,
                rule: None,
            };
        }
        match self.rules.iter().find(|rule| rule.pattern.matches(&normal)) {
            Some(rule) => Verdict {
                allowed: rule.allow,
                rule: Some(rule.line()),
            },
            None => Verdict {
                allowed: true,
                rule: None,
            },
        }
    }

    /// The `Crawl-delay` our group asks for, in ms, rounded up: as asked, apart from a clamp at 31 days. Capping it is policy.
    #[must_use]
    pub fn crawl_delay_ms(&self) -> Option<u64> {
        self.crawl_delay_ms
    }

    /// Sitemap addresses as given, perhaps relative; they belong to no group.
    #[must_use]
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// How many rules apply to us.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// At least one line was a known record, for whatever agent.
    #[must_use]
    pub fn has_any_valid_line(&self) -> bool {
        self.valid_lines
    }

    /// The body had text but no known record, as a challenge page has: whoever holds earlier rules of the host should keep
    /// those. An empty or commented-out file is not of this kind: it says "no rules".
    #[must_use]
    pub fn is_noise(&self) -> bool {
        self.noise && !self.valid_lines
    }
}
