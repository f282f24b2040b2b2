//! Robots files: where each host's is, and what it says.

use super::Web;
use super::host::{Host, RobotsKind};
use super::names::{host_index, host_name};
use crate::rng::Purpose;

/// What a request for a robots path answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RobotsAnswer {
    /// A file with status 200.
    File(Vec<u8>),
    /// Another status without a file.
    Status(u16),
    /// A redirect to this URL.
    Redirect(String),
}

/// Size of the comments in a huge file, in bytes; RFC 9309 section 2.5 asks parsers for 500 KiB at least.
const HUGE_BYTES: usize = 600_000;

impl Web {
    /// The URLs a crawler must fetch to know the host's robots file, in order.
    pub(crate) fn robots_urls(&self, host: &Host) -> Vec<String> {
        let mut urls = vec![format!("http://{}/robots.txt", host.name)];
        match host.robots {
            RobotsKind::MovedWithin(hops) => {
                urls.extend(
                    (1..=hops).map(|hop| format!("http://{}/robots-moved{hop}.txt", host.name)),
                );
            }
            RobotsKind::MovedTo(other) => {
                urls.push(format!(
                    "http://{}/robots-of/{}.txt",
                    host_name(other),
                    host.name
                ));
            }
            _ => {}
        }
        urls
    }

    /// What a canonical path answers if it belongs to a robots file, this host's or another's.
    pub(crate) fn robots_answer(&self, host: &Host, path: &str) -> Option<RobotsAnswer> {
        if let Some(origin) = path
            .strip_prefix("/robots-of/")
            .and_then(|name| name.strip_suffix(".txt"))
        {
            let origin = self.host(host_index(origin, self.hosts)?);
            return (origin.robots == RobotsKind::MovedTo(host.index))
                .then(|| RobotsAnswer::File(self.robots_file(&origin)));
        }
        let urls = self.robots_urls(host);
        let own = format!("http://{}{path}", host.name);
        let place = urls.iter().position(|url| *url == own)?;
        if let Some(next) = urls.get(place + 1) {
            return Some(RobotsAnswer::Redirect(next.clone()));
        }
        Some(match host.robots {
            RobotsKind::Absent(status) | RobotsKind::Error(status) => RobotsAnswer::Status(status),
            _ => RobotsAnswer::File(self.robots_file(host)),
        })
    }

    fn robots_file(&self, host: &Host) -> Vec<u8> {
        if host.robots == RobotsKind::Empty {
            return Vec::new();
        }
        let mut rng = self.rng(Purpose::RobotsText, host.index, 0);
        let mut text = String::new();
        if self.features.spellings && rng.chance(100) {
            text.push('\u{feff}');
        }
        text.push_str("# what crawlers may do here\nUser-agent: rude-example-bot\nDisallow: /\n\n");
        text.push_str(if rng.chance(500) {
            "User-agent: *\n"
        } else {
            "user-AGENT :  *   # all others\n"
        });
        match host.robots {
            RobotsKind::DisallowAll => text.push_str("Disallow: /\n"),
            RobotsKind::CrawlDelay(delay_ms) => {
                let seconds = f64::from(delay_ms) / 1000.0;
                text.push_str(&format!(
                    "Crawl-delay: {seconds}\nDisallow: /nothing-is-here/\n"
                ));
            }
            RobotsKind::Huge => {
                text.push_str("Disallow: /private/\n");
                pad(&mut text, HUGE_BYTES / 2);
                text.push_str(SOME_RULES);
                pad(&mut text, HUGE_BYTES / 2);
            }
            kind if kind.has_rules() => text.push_str(SOME_RULES),
            _ => text.push_str("Disallow:\n"),
        }
        if rng.chance(300) {
            text.replace('\n', "\r\n").into_bytes()
        } else {
            text.into_bytes()
        }
    }
}

/// Rules with a longer exception, a wildcard with an end anchor, and an escaped unreserved character.
const SOME_RULES: &str =
    "Disallow: /private/\nAllow: /private/open/\nDisallow: /*.cgi$\nDisallow: /%7Eadmin/\n";

fn pad(text: &mut String, bytes: usize) {
    let line = "# a remark that says nothing, in a file that is longer than anybody needs\n";
    text.push_str(&line.repeat(bytes / line.len()));
}
