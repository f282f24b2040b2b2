//! The many ways to write one link.

use crate::rng::Rng;

/// The page a link stands on.
pub(crate) struct Place<'a> {
    /// Name of the page's host.
    pub(crate) host: &'a str,
    /// Canonical path that relative links start from.
    pub(crate) base_path: &'a str,
    /// Whether `é` may stand raw.
    pub(crate) raw_allowed: bool,
    /// Whether other spellings than the canonical path and URL are wanted.
    pub(crate) vary: bool,
}

/// Writes a link to `http://{host}{path}` as the text of an `href`, before entities.
pub(crate) fn spell(rng: &mut Rng, place: &Place<'_>, host: &str, path: &str) -> String {
    let same_host = host == place.host;
    if !place.vary {
        return if same_host {
            path.to_owned()
        } else {
            format!("http://{host}{path}")
        };
    }
    let path = spell_path(rng, place, path);
    let mut link = match rng.below(8) {
        0..3 if same_host => path,
        3..5 if same_host => relative(place.base_path, &path),
        5 if same_host && !path.contains('?') => path.replace('/', "\\"),
        6 => format!("//{host}{path}"),
        _ => format!(
            "{}{}{path}",
            rng.pick(&["http://", "http://", "HTTP://"]),
            spell_host(rng, host)
        ),
    };
    if rng.chance(150) {
        link.push_str("#part");
    }
    match rng.below(20) {
        0 => format!(" {link} "),
        1 => format!("\n{link}\n"),
        2 if link.len() > 4 && link.is_char_boundary(3) => {
            format!("{}\t{}", &link[..3], &link[3..])
        }
        _ => link,
    }
}

fn spell_host(rng: &mut Rng, host: &str) -> String {
    match rng.below(8) {
        0 => host.to_ascii_uppercase(),
        1 => format!("{host}:80"),
        2 => format!("{host}."),
        _ => host.to_owned(),
    }
}

fn spell_path(rng: &mut Rng, place: &Place<'_>, path: &str) -> String {
    match rng.below(10) {
        0 => format!("/zz/..{path}"),
        1 => format!("/.{path}"),
        2 => path.replace("%C3%A9", "%c3%a9").replace("%2F", "%2f"),
        3 if place.raw_allowed => path.replace("%C3%A9", "é"),
        4 => path.replace("%20", " "),
        5 | 6 => escape_first_letter(rng, path),
        _ => path.to_owned(),
    }
}

/// `/docs` becomes `/%64ocs`: an unreserved character that needs no escape.
fn escape_first_letter(rng: &mut Rng, path: &str) -> String {
    match path.as_bytes().get(1) {
        Some(letter) if letter.is_ascii_alphabetic() && rng.chance(500) => {
            format!("/%{letter:02x}{}", &path[2..])
        }
        Some(letter) if letter.is_ascii_alphabetic() => format!("/%{letter:02X}{}", &path[2..]),
        _ => path.to_owned(),
    }
}

/// The path relative to the directory of `base_path`.
fn relative(base_path: &str, path: &str) -> String {
    let directory = base_path.split('?').next().unwrap_or_default();
    let ups = directory.matches('/').count().saturating_sub(1);
    let link = format!("{}{}", "../".repeat(ups), path.trim_start_matches('/'));
    if link.is_empty() {
        "./".to_owned()
    } else {
        link
    }
}

/// Writes a link as an HTML attribute, with entities where they are needed and some where not.
pub(crate) fn attribute(rng: &mut Rng, name: &str, link: &str, vary: bool) -> String {
    if !vary {
        return format!("{name}=\"{}\"", link.replace('&', "&amp;"));
    }
    let mut value = link.replace('&', rng.pick(&["&amp;", "&amp;", "&#38;", "&#x26;"]));
    if rng.chance(50) {
        value = value.replacen('/', "&#x2F;", 1);
    }
    let bare = value
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"/-._~%:?=&;#".contains(&b));
    match rng.below(10) {
        0 => format!("{} = '{value}'", name.to_ascii_uppercase()),
        1 => format!("{name}='{value}'"),
        2 if bare => format!("{name}={value}"),
        _ => format!("{name}=\"{value}\""),
    }
}
