//! Scheme and port, the part of an origin that a host name does not say, and the few URL forms the machine reads.
//!
//! The node canonicalised every URL; here it is only taken apart, never changed.

/// Scheme and port of a URL. Robots are per host name and authority (RFC 9309 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Authority {
    pub https: bool,
    pub port: u16,
}

/// Bytes of a host name at most.
const HOST_SIZE_BYTES: usize = 253;

impl Authority {
    /// Takes a canonical URL or origin apart into host name and authority.
    pub fn of(url: &str) -> Option<(&str, Self)> {
        let (https, rest) = match url.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, url.strip_prefix("http://")?),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, port) = split_port(&rest[..end])?;
        let port = match port {
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok()?,
            Some(_) => return None,
            None if https => 443,
            None => 80,
        };
        is_host(host).then_some((host, Self { https, port }))
    }

    /// "scheme://host[:port]".
    pub fn origin(self, host: &str) -> String {
        let scheme = if self.https { "https" } else { "http" };
        let own = if self.https { 443 } else { 80 };
        if self.port == own {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{host}:{}", self.port)
        }
    }

    /// Three bytes in the order of (scheme, port), as they stand in row keys.
    pub fn key_bytes(self) -> [u8; 3] {
        let [high, low] = self.port.to_be_bytes();
        [u8::from(self.https), high, low]
    }
}

fn split_port(authority: &str) -> Option<(&str, Option<&str>)> {
    if authority.starts_with('[') {
        let close = authority.find(']')? + 1;
        let port = &authority[close..];
        return if port.is_empty() {
            Some((authority, None))
        } else {
            Some((&authority[..close], Some(port.strip_prefix(':')?)))
        };
    }
    Some(match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    })
}

/// Whether a name may stand in row keys: not empty, not too long, printable ASCII without separators.
pub(crate) fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host.len() <= HOST_SIZE_BYTES
        && host.bytes().all(|byte| {
            byte.is_ascii_graphic() && !matches!(byte, b'/' | b'?' | b'#' | b'@' | b'\\')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_urls_apart() {
        let of = Authority::of;
        assert_eq!(
            of("http://a.example/x"),
            Some((
                "a.example",
                Authority {
                    https: false,
                    port: 80
                }
            ))
        );
        assert_eq!(
            of("https://a.example"),
            Some((
                "a.example",
                Authority {
                    https: true,
                    port: 443
                }
            ))
        );
        assert_eq!(
            of("https://a.example:8443/?q"),
            Some((
                "a.example",
                Authority {
                    https: true,
                    port: 8_443
                }
            ))
        );
        assert_eq!(
            of("http://[::1]:8080/"),
            Some((
                "[::1]",
                Authority {
                    https: false,
                    port: 8_080
                }
            ))
        );
        for bad in [
            "ftp://a/",
            "http://",
            "http://a:b/",
            "http://a:99999/",
            "http://[::1/",
            "http://u@h/",
            "http://a\0b/",
            "http://a:+8/",
        ] {
            assert_eq!(of(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn origins_round_trip() {
        for origin in [
            "http://a.example",
            "https://a.example",
            "http://a.example:8080",
            "https://[::1]:80",
        ] {
            let (host, authority) = Authority::of(origin).unwrap_or((
                "",
                Authority {
                    https: false,
                    port: 0,
                },
            ));
            assert_eq!(authority.origin(host), origin);
        }
    }
}
