//! A naive link finder and the canonical form of a URL.

use std::collections::BTreeSet;

use url::Url;

pub(crate) fn host_of(url: &str) -> String {
    Url::parse(url).unwrap().host_str().unwrap().to_owned()
}

/// The canonical form of a link on a page at `base`, if it leads to a web page.
pub(crate) fn canonical(base: &str, link: &str) -> Option<String> {
    let mut url = Url::parse(base).unwrap().join(link).ok()?;
    if url.scheme() != "http" {
        return None;
    }
    url.set_fragment(None);
    let host = url.host_str()?.trim_end_matches('.').to_owned();
    url.set_host(Some(&host)).ok()?;
    Some(unescape_unreserved(url.as_str()))
}

/// Decodes what needs no escape and writes the other escapes in upper case.
pub(crate) fn unescape_unreserved(text: &str) -> String {
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
        {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(byte as char);
                out.push_str(&part[2..]);
            }
            Some(byte) => out.push_str(&format!("%{byte:02X}{}", &part[2..])),
            None => out.push_str(&format!("%{part}")),
        }
    }
    out
}

/// Canonical targets of a page's `a` and `area` elements.
pub(crate) fn links(url: &str, content_type: &str, body: &[u8]) -> BTreeSet<String> {
    let text = decode(content_type, body);
    let text = without(&without(&text, "<!--", "-->"), "<script", "</script>");
    let mut base = url.to_owned();
    let mut found = BTreeSet::new();
    for piece in text.split('<').skip(1) {
        let Some(end) = piece.find(|c: char| c.is_whitespace() || c == '>') else {
            continue;
        };
        let name = piece[..end].to_ascii_lowercase();
        if !["a", "area", "base"].contains(&name.as_str()) {
            continue;
        }
        let Some(link) = href(&piece[end..]) else {
            continue;
        };
        if name == "base" {
            base = link;
        } else {
            found.extend(canonical(&base, &link));
        }
    }
    found
}

fn decode(content_type: &str, body: &[u8]) -> String {
    if body.starts_with(&[0xff, 0xfe]) {
        let units: Vec<u16> = body[2..]
            .chunks(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        return String::from_utf16(&units).unwrap();
    }
    let start = String::from_utf8_lossy(&body[..body.len().min(1024)]).into_owned();
    let declared = format!("{content_type} {start}").to_ascii_lowercase();
    // In the other single-byte charsets only ASCII matters here.
    if ["iso-8859-1", "windows-1251", "shift_jis"]
        .iter()
        .any(|name| declared.contains(name))
    {
        return body.iter().map(|byte| *byte as char).collect();
    }
    String::from_utf8(body.to_vec()).unwrap()
}

fn without(text: &str, open: &str, close: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(open) {
        out.push_str(&rest[..start]);
        rest = rest[start..]
            .split_once(close)
            .map_or("", |(_, after)| after);
    }
    out + rest
}

/// The value of the attribute called exactly `href` in a tag's text after its name.
fn href(tag: &str) -> Option<String> {
    let mut rest = tag.trim_start();
    loop {
        let end = rest.find(|c: char| c.is_whitespace() || c == '=' || c == '>')?;
        let name = rest[..end].to_ascii_lowercase();
        rest = rest[end..].trim_start();
        if rest.starts_with('>') {
            return None;
        }
        let Some(after) = rest.strip_prefix('=') else {
            continue;
        };
        rest = after.trim_start();
        let (value, after) = match rest.chars().next()? {
            quote @ ('"' | '\'') => rest[1..].split_once(quote)?,
            _ => rest.split_at(rest.find(|c: char| c.is_whitespace() || c == '>')?),
        };
        if name == "href" {
            let mut value = value.to_owned();
            for (entity, character) in [
                ("&#x2F;", "/"),
                ("&#38;", "&"),
                ("&#x26;", "&"),
                ("&amp;", "&"),
            ] {
                value = value.replace(entity, character);
            }
            return Some(value);
        }
        rest = after.trim_start();
    }
}
