//! A naive reader of robots files (RFC 9309), for the group of all others only.

use std::net::SocketAddr;

use super::client::fetch;
use super::html::{canonical, host_of, unescape_unreserved};
use crate::Outcome;

/// What a host's robots file says.
#[derive(Default)]
pub(crate) struct Robots {
    /// URLs fetched to know it.
    pub(crate) urls: Vec<String>,
    pub(crate) crawl_delay_ms: u32,
    unreachable: bool,
    /// (allow, pattern).
    rules: Vec<(bool, String)>,
}

impl Robots {
    /// The outcome of a URL that may not be fetched.
    pub(crate) fn refuses(&self, url: &str) -> Option<Outcome> {
        if self.unreachable {
            return Some(Outcome::UnreachableRobots);
        }
        let path = url
            .splitn(4, '/')
            .nth(3)
            .map(|rest| format!("/{rest}"))
            .unwrap();
        let matching = self
            .rules
            .iter()
            .filter(|(_, pattern)| matches(pattern.as_bytes(), path.as_bytes()));
        let longest = matching.max_by_key(|(allow, pattern)| (pattern.len(), *allow));
        longest
            .is_some_and(|(allow, _)| !allow)
            .then_some(Outcome::Disallowed)
    }

    fn read(&mut self, text: &str) {
        let (mut ours, mut in_agents) = (false, false);
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            if key == "user-agent" {
                ours = (in_agents && ours) || value == "*";
                in_agents = true;
                continue;
            }
            in_agents = false;
            match key.as_str() {
                "allow" | "disallow" if ours && !value.is_empty() => {
                    self.rules
                        .push((key == "allow", unescape_unreserved(value)));
                }
                "crawl-delay" if ours => {
                    self.crawl_delay_ms = (value.parse::<f64>().unwrap() * 1000.0) as u32
                }
                _ => {}
            }
        }
    }
}

/// Plain backtracking: `*` is anything, `$` at the end anchors.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    match pattern.first() {
        None => true,
        Some(b'$') if pattern.len() == 1 => path.is_empty(),
        Some(b'*') => (0..=path.len()).any(|skip| matches(&pattern[1..], &path[skip..])),
        Some(byte) => path.first() == Some(byte) && matches(&pattern[1..], &path[1..]),
    }
}

/// Fetches a host's robots file through up to five redirects.
pub(crate) async fn fetch_robots(addr: SocketAddr, host: &str) -> Robots {
    let mut robots = Robots::default();
    let mut url = format!("http://{host}/robots.txt");
    for _ in 0..6 {
        robots.urls.push(url.clone());
        let fetched = fetch(addr, &url, &[]).await;
        match fetched.status {
            200 => robots.read(&String::from_utf8(fetched.body).unwrap()),
            500.. => robots.unreachable = true,
            301 | 302 | 303 | 307 | 308 => {
                url = canonical(&url, &fetched.header("location").unwrap()).unwrap();
                assert!(!host_of(&url).is_empty());
                continue;
            }
            _ => {}
        }
        return robots;
    }
    panic!("more than five redirects: {:?}", robots.urls);
}
