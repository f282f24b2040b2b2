//! Host names, and the way back from a name to its number.
//!
//! Six hosts make three sites of three, two and one hosts. Some names have more labels:
//! `h0000.site000.example`, `h0002.east.site000.example`, `h0010.a.b.site004.example`.

/// The name of host `index`.
pub(crate) fn host_name(index: u32) -> String {
    let place = index % 6;
    let site = index / 6 * 3 + [0, 0, 0, 1, 1, 2][place as usize];
    let between = match (place, (index / 6) % 2) {
        (2, _) => "east.",
        (4, 1) => "a.b.",
        _ => "",
    };
    format!("h{index:04}.{between}site{site:03}.example")
}

/// The number of the host called `name` (lower case, without port), if it is one of `hosts`.
pub(crate) fn host_index(name: &str, hosts: u32) -> Option<u32> {
    let (label, _) = name.strip_prefix('h')?.split_once('.')?;
    let index: u32 = label.parse().ok()?;
    (index < hosts && host_name(index) == name).then_some(index)
}

/// A `Host` header's or authority's name: lower case, without port and trailing dot.
pub(crate) fn bare_name(authority: &str) -> String {
    let without_port = match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => authority,
    };
    without_port
        .strip_suffix('.')
        .unwrap_or(without_port)
        .to_ascii_lowercase()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_number() {
        for index in (0..3000).chain(999_990..1_000_000) {
            assert_eq!(host_index(&host_name(index), 1_000_000), Some(index));
        }
        assert_eq!(host_name(0), "h0000.site000.example");
        assert_eq!(host_name(2), "h0002.east.site000.example");
        assert_eq!(host_name(10), "h0010.a.b.site004.example");
    }

    #[test]
    fn other_names_are_unknown() {
        for name in [
            "",
            "h",
            "h0000.example",
            "h00000.site000.example",
            "h0009.site003.example",
            "www.site000.example",
        ] {
            assert_eq!(host_index(name, 9), None, "{name}");
        }
    }

    #[test]
    fn ports_dots_and_case_are_dropped() {
        assert_eq!(
            bare_name("H0000.Site000.EXAMPLE.:8080"),
            "h0000.site000.example"
        );
        assert_eq!(bare_name("h0000.site000.example"), "h0000.site000.example");
    }
}
