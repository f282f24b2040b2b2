//! The URLs of a host: what each unit is, and the paths it answers at.

use super::Web;
use super::host::Host;
use crate::rng::Purpose;

/// What a unit is. Each is one URL but `Chain` and `Loop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Page,
    Text,
    Image,
    /// A page whose bytes are those of all duplicates of that number, at any host.
    Duplicate(u32),
    Empty,
    Redirect,
    /// So many redirects, then a page that nothing else links to.
    Chain(u32),
    /// A redirect to itself (1) or two that lead to each other (2).
    Loop(u32),
    NotFound,
    Gone,
    ServerError,
    /// So many times 503, then a page.
    Flaky(u32),
    Truncated,
    /// A path the robots file disallows.
    Disallowed,
    /// A path that only looks as if the robots file disallowed it.
    Exception,
    Oversize,
}

/// Different contents that duplicates may have.
const DUPLICATES: u32 = 8;

impl Web {
    /// What unit `unit` of `host` is.
    pub(crate) fn unit_kind(&self, host: &Host, unit: u32) -> UnitKind {
        if host.is_inner(unit) {
            return UnitKind::Page;
        }
        let features = &self.features;
        let mut rng = self.rng(Purpose::Unit, host.index, unit);
        let roll = rng.below(1000);
        let more = rng.next_u64() as u32;
        // At most one URL of a host makes trouble, so that a crawl's back-off stays short.
        if unit + 1 == host.units {
            match roll {
                0..80 if features.server_errors => return UnitKind::ServerError,
                80..160 if features.flaky => return UnitKind::Flaky(1 + more % 2),
                160..240 if features.truncated => return UnitKind::Truncated,
                _ => {}
            }
        }
        if unit % 16 == host.chain_place && features.redirects {
            return UnitKind::Chain(1 + more % 3);
        }
        match roll {
            0..80 if features.non_html => UnitKind::Text,
            80..120 if features.non_html => UnitKind::Image,
            120..180 if features.duplicates => UnitKind::Duplicate(more % DUPLICATES),
            180..190 if features.empty => UnitKind::Empty,
            190..260 if features.redirects => UnitKind::Redirect,
            260..275 if features.redirect_loops => UnitKind::Loop(1 + more % 2),
            275..315 if features.client_errors => UnitKind::NotFound,
            315..330 if features.client_errors => UnitKind::Gone,
            330..430 if host.robots.has_rules() => UnitKind::Disallowed,
            430..480 if host.robots.has_rules() => UnitKind::Exception,
            480..490 if features.oversize => UnitKind::Oversize,
            _ => UnitKind::Page,
        }
    }

    /// Number of URLs the unit has.
    pub(crate) fn members(&self, kind: UnitKind) -> u32 {
        match kind {
            UnitKind::Chain(redirects) => redirects + 1,
            UnitKind::Loop(length) => length,
            _ => 1,
        }
    }

    /// Canonical path of a unit's URL; member 0 is the one that pages link to.
    ///
    /// The last run of digits is the unit's number, which is how a path is led back to its unit.
    pub(crate) fn path(&self, host: &Host, unit: u32, kind: UnitKind, member: u32) -> String {
        let hop = member + 1;
        let mut rng = self.rng(Purpose::Path, host.index, unit);
        match kind {
            UnitKind::Page if unit == 0 => "/".to_owned(),
            UnitKind::Page => {
                let styles = if self.features.spellings {
                    PAGE_PATHS
                } else {
                    &PAGE_PATHS[..3]
                };
                fill(rng.pick(styles), unit)
            }
            UnitKind::Text => format!("/notes/s{unit}.txt"),
            UnitKind::Image => format!("/img/s{unit}.png"),
            UnitKind::Duplicate(_) => format!("/mirror/s{unit}.html"),
            UnitKind::Empty => format!("/empty/s{unit}"),
            UnitKind::Redirect => format!("/go/s{unit}"),
            UnitKind::Chain(redirects) if member == redirects => format!("/landed/s{unit}.html"),
            UnitKind::Chain(_) => format!("/hop{hop}/s{unit}"),
            UnitKind::Loop(_) => format!("/loop{hop}/s{unit}"),
            UnitKind::NotFound => format!("/missing/s{unit}"),
            UnitKind::Gone => format!("/gone/s{unit}"),
            UnitKind::ServerError => format!("/broken/s{unit}"),
            UnitKind::Flaky(_) => format!("/busy/s{unit}"),
            UnitKind::Truncated => format!("/cut/s{unit}.txt"),
            UnitKind::Disallowed => fill(rng.pick(DISALLOWED_PATHS), unit),
            UnitKind::Exception => fill(rng.pick(EXCEPTION_PATHS), unit),
            UnitKind::Oversize => format!("/big/s{unit}.txt"),
        }
    }

    /// The unit and member that answer at a canonical path.
    pub(crate) fn find(&self, host: &Host, path: &str) -> Option<(u32, UnitKind, u32)> {
        let unit = if path == "/" { 0 } else { last_number(path)? };
        if unit >= host.units {
            return None;
        }
        let kind = self.unit_kind(host, unit);
        (0..self.members(kind))
            .find(|member| self.path(host, unit, kind, *member) == path)
            .map(|member| (unit, kind, member))
    }
}

/// Paths of ordinary pages, `@` standing for the unit's number. The first three need no care.
const PAGE_PATHS: &[&str] = &[
    "/docs/s@.html",
    "/a/b/s@/",
    "/s@",
    "/search?lang=en&id=@",
    "/%C3%A9t%C3%A9/s@.html",
    "/~user/s@",
    "/With%20Space/s@",
    "/Case/S@.HTM",
    "/x//s@",
    "/p;v=1/s@",
    "/list?b=2&a=1&n=@",
    "/a%2Fb/s@",
];

/// Paths that [`super::robots_text`] disallows.
const DISALLOWED_PATHS: &[&str] = &[
    "/private/s@.html",
    "/tools/s@.cgi",
    "/~admin/s@",
    "/private/sub/?q=@",
];

/// Paths that it allows by a longer rule, by the end anchor, or by case.
const EXCEPTION_PATHS: &[&str] = &[
    "/private/open/s@.html",
    "/tools/s@.cgi.txt",
    "/Private/s@.html",
];

fn fill(style: &str, unit: u32) -> String {
    style.replace('@', &unit.to_string())
}

fn last_number(path: &str) -> Option<u32> {
    let end = path.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = path[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + 1);
    path[start..end].parse().ok()
}
