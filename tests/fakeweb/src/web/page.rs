//! Bodies: pages with their links, text, images, duplicates.

use super::Web;
use super::charset::Charset;
use super::host::Host;
use super::spelling::{Place, attribute, spell};
use super::unit::UnitKind;
use crate::limits;
use crate::rng::{Purpose, Rng};

/// A body before any content coding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Payload {
    pub(crate) content_type: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// Number of distinct URLs linked.
    pub(crate) links: u32,
}

/// Number of a page within its host: two URLs of one unit are different pages.
pub(crate) fn page_key(unit: u32, member: u32) -> u32 {
    unit * 4 + member
}

impl Web {
    /// The HTML page at (unit, member), whose own path is `path`.
    pub(crate) fn page(&self, host: &Host, unit: u32, member: u32, path: &str) -> Payload {
        let mut rng = self.rng(Purpose::Page, host.index, page_key(unit, member));
        let vary = self.features.spellings;
        let charset = if self.features.charsets {
            Charset::draw(&mut rng)
        } else {
            Charset::Utf8Header
        };
        let size_bytes = rng.range(self.shape.body_min_bytes, self.shape.body_max_bytes) as usize;
        let has_base = vary && rng.chance(60);
        let place = Place {
            host: &host.name,
            base_path: if has_base { "/" } else { path },
            raw_allowed: charset.has_e_acute(),
            vary,
        };
        let mut text = String::with_capacity(size_bytes + 4096);
        head(
            &mut text,
            charset,
            has_base.then_some(host.name.as_str()),
            unit,
            vary,
        );
        let (targets, mandatory) = self.targets(host, unit, &mut rng);
        for (number, (target_host, target_path)) in targets.iter().enumerate() {
            let link = spell(&mut rng, &place, target_host, target_path);
            push_link(&mut text, &mut rng, &link, number >= mandatory, vary);
        }
        if vary {
            text.push_str(NOT_LINKS);
        }
        text.push_str("<p>");
        text.push_str(charset.sample());
        self.push_filler(&mut text, &mut rng, size_bytes);
        text.push_str("</p></body></html>\n");
        let mut distinct = targets;
        distinct.sort_unstable();
        distinct.dedup();
        Payload {
            content_type: charset.content_type(),
            bytes: charset.encode(&text),
            links: distinct.len() as u32,
        }
    }

    /// Targets of a page's links as (host, path), and how many of them hold the web together.
    fn targets(&self, host: &Host, unit: u32, rng: &mut Rng) -> (Vec<(String, String)>, usize) {
        let mut targets = Vec::new();
        let children =
            unit * host.branch + 1..(unit * host.branch + host.branch + 1).min(host.units);
        for child in children {
            targets.push((host.name.clone(), self.head_path(host, child)));
        }
        if unit == 0 {
            let fan_out = u64::from(self.shape.fan_out);
            let first = u64::from(host.index) * fan_out + 1;
            for index in first..(first + fan_out).min(u64::from(self.hosts)) {
                targets.push((super::names::host_name(index as u32), "/".to_owned()));
            }
        }
        let mandatory = targets.len();
        while targets.len() < self.shape.links_per_page as usize {
            targets.push(self.any_target(host, rng));
        }
        (targets, mandatory)
    }

    /// A URL that is reachable anyway: of this host in three of four cases, else of any.
    pub(crate) fn any_target(&self, host: &Host, rng: &mut Rng) -> (String, String) {
        if rng.below(4) > 0 && host.units > 1 {
            return (
                host.name.clone(),
                self.head_path(host, rng.below(host.units)),
            );
        }
        let other = self.host(rng.below(self.hosts));
        // Of a host that is closed as a whole only the root is in the manifest.
        let unit = if other.robots.blocks_all() {
            0
        } else {
            rng.below(other.units)
        };
        let path = self.head_path(&other, unit);
        (other.name, path)
    }

    /// Path that pages link to for a unit.
    pub(crate) fn head_path(&self, host: &Host, unit: u32) -> String {
        self.path(host, unit, self.unit_kind(host, unit), 0)
    }

    /// The bytes all duplicates of that number share.
    pub(crate) fn duplicate(&self, number: u32) -> Payload {
        let mut rng = self.rng(Purpose::Bytes, u32::MAX, number);
        let mut text = format!("<!DOCTYPE html><title>Licence {number}</title><p>");
        let size_bytes = rng.range(self.shape.body_min_bytes, self.shape.body_max_bytes) as usize;
        self.push_filler(&mut text, &mut rng, size_bytes);
        Payload {
            content_type: "text/html; charset=utf-8",
            bytes: text.into_bytes(),
            links: 0,
        }
    }

    /// Plain text of the drawn size, or of the size that is too large.
    pub(crate) fn text(&self, host: &Host, unit: u32, kind: UnitKind) -> Payload {
        let mut rng = self.rng(Purpose::Bytes, host.index, unit);
        let size_bytes = match kind {
            UnitKind::Oversize => limits::OVERSIZE_BYTES,
            _ => rng.range(self.shape.body_min_bytes, self.shape.body_max_bytes) as usize,
        };
        let mut text = format!(
            "Note {unit} of {}. Not a link: http://{}/trap/text\n",
            host.name, host.name
        );
        while text.len() < size_bytes {
            let before = text.len();
            self.push_filler(&mut text, &mut rng, size_bytes);
            if text.len() == before {
                break;
            }
        }
        Payload {
            content_type: "text/plain; charset=utf-8",
            bytes: text.into_bytes(),
            links: 0,
        }
    }

    /// Bytes that look like an image.
    pub(crate) fn image(&self, host: &Host, unit: u32) -> Payload {
        let mut rng = self.rng(Purpose::Bytes, host.index, unit);
        let size_bytes = rng.range(64, 2048) as usize;
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        while bytes.len() < size_bytes {
            bytes.extend_from_slice(&rng.next_u64().to_le_bytes());
        }
        Payload {
            content_type: "image/png",
            bytes,
            links: 0,
        }
    }

    /// Appends words up to `size_bytes` in all, in slices of the shared text.
    fn push_filler(&self, text: &mut String, rng: &mut Rng, size_bytes: usize) {
        while text.len() < size_bytes {
            let wanted = (size_bytes - text.len()).min(self.filler.len() / 2);
            let start = rng.below((self.filler.len() - wanted) as u32) as usize;
            text.push_str(&self.filler[start..start + wanted]);
        }
    }
}

fn head(text: &mut String, charset: Charset, base: Option<&str>, unit: u32, vary: bool) {
    text.push_str("<!DOCTYPE html>\n<html><head>");
    text.push_str(charset.meta());
    if let Some(host) = base {
        text.push_str(&format!("<base href=\"http://{host}/\">"));
    }
    text.push_str(&format!("<title>Page {unit}</title>"));
    if vary {
        text.push_str("<script>var s = '<a href=\"/trap/script\">x</a>';</script>");
    }
    text.push_str("</head>\n<body>\n");
}

/// Things that look like links, or are links to what is no web page.
const NOT_LINKS: &str = "<!-- <a href=\"/trap/comment\">x</a> -->\n\
    <a name=\"part\">here</a> <a href=\"mailto:someone@site.example\">mail</a> \
    <a href=\"javascript:void(0)\">run</a> <a href=\"ftp://files.example/x\">files</a> \
    <a data-href=\"/trap/data\">no</a> <a href=\"data:text/html,x\">data</a>\n";

/// Links that hold the web together are plain `a` elements; the others also come as `area`, or with
/// `rel=nofollow`, which a crawler may heed or not: their targets are reachable anyway.
fn push_link(text: &mut String, rng: &mut Rng, link: &str, spare: bool, vary: bool) {
    let href = attribute(rng, "href", link, vary);
    match rng.below(12) {
        0 if spare && vary => text.push_str(&format!("<area shape=\"rect\" {href} >\n")),
        1 if spare && vary => text.push_str(&format!("<a rel=\"nofollow\" {href} >link</a>\n")),
        2 if vary => text.push_str(&format!("<A class=x {href} >link</A>\n")),
        _ => text.push_str(&format!("<a {href} >link</a>\n")),
    }
}
