//! What holds for a host, given how the fetch of its robots.txt ended (RFC 9309 section 2.3.1).

/// How one fetch of robots.txt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RobotsAnswer {
    /// A response with a whole (or size-capped) body.
    Status {
        /// The HTTP status.
        code: u16,
        /// Its `Retry-After` as a duration in ms, if it had a valid one.
        retry_after_ms: Option<u64>,
    },
    /// No usable response.
    Failed(Failure),
}

/// Why there was no usable response. All of these mean "unreachable"; kept apart for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Failure {
    /// The name did not resolve.
    Dns,
    /// Connecting failed: refused, reset, no route.
    Connect,
    /// The TLS handshake or certificate failed.
    Tls,
    /// A deadline passed.
    Timeout,
    /// The peer broke HTTP or ended the body early.
    Protocol,
    /// A redirect led where we do not go (a private address, another scheme, no valid target): not a licence to crawl.
    RefusedRedirect,
    /// More hops than are followed. Section 2.3.1.2 would permit "unavailable"; we keep out.
    TooManyRedirects,
}

/// What holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Parse the body ([`crate::Robots::parse`]).
    Parse,
    /// Follow the `Location` (at least five hops, section 2.3.1.2); the rules found apply to the host first asked.
    Redirect,
    /// The rules held before are still right (304).
    NotModified,
    /// Unavailable: no rules ([`crate::Robots::allow_all`]).
    AllowAll,
    /// Closed by status ([`crate::Robots::disallow_all`]).
    DisallowAll,
    /// Unreachable: complete disallow until a later try succeeds; last good rules, if any, stay.
    Unreachable {
        /// When the host asked to be tried again, in ms from now.
        retry_after_ms: Option<u64>,
    },
}

/// The operator's choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RobotsPolicy {
    /// 401 and 403 close the host. Off by default: section 2.3.1.3 lets a crawler fetch anything on any 4xx.
    pub treat_401_403_as_disallow: bool,
}

impl RobotsPolicy {
    /// Decides. 429 is the one 4xx that is treated as unreachable: a host that asks for less gets less, and its
    /// `Retry-After` is kept. A status outside 2xx-5xx, or a 3xx that names no target, is unreachable.
    #[must_use]
    pub fn classify(&self, answer: &RobotsAnswer) -> Policy {
        let (code, retry_after_ms) = match *answer {
            RobotsAnswer::Status {
                code,
                retry_after_ms,
            } => (code, retry_after_ms),
            RobotsAnswer::Failed(_) => {
                return Policy::Unreachable {
                    retry_after_ms: None,
                };
            }
        };
        match code {
            200..=299 => Policy::Parse,
            301 | 302 | 303 | 307 | 308 => Policy::Redirect,
            304 => Policy::NotModified,
            429 => Policy::Unreachable { retry_after_ms },
            401 | 403 if self.treat_401_403_as_disallow => Policy::DisallowAll,
            400..=499 => Policy::AllowAll,
            _ => Policy::Unreachable { retry_after_ms },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classify(code: u16) -> Policy {
        RobotsPolicy::default().classify(&RobotsAnswer::Status {
            code,
            retry_after_ms: Some(7),
        })
    }

    /// case D1, case D8: errors and refused hops close the host.
    #[test]
    fn unreachable_is_never_a_licence() {
        for code in [500, 502, 503, 504, 599, 100, 0, 999, 300, 305, 306] {
            assert_eq!(
                classify(code),
                Policy::Unreachable {
                    retry_after_ms: Some(7)
                },
                "{code}"
            );
        }
        for failure in [
            Failure::Dns,
            Failure::Connect,
            Failure::Tls,
            Failure::Timeout,
            Failure::Protocol,
            Failure::RefusedRedirect,
            Failure::TooManyRedirects,
        ] {
            let policy = RobotsPolicy::default().classify(&RobotsAnswer::Failed(failure));
            assert_eq!(
                policy,
                Policy::Unreachable {
                    retry_after_ms: None
                },
                "{failure:?}"
            );
        }
    }

    /// case D4: 429 keeps its Retry-After and lifts no limit.
    #[test]
    fn too_many_requests_is_unreachable() {
        assert_eq!(
            classify(429),
            Policy::Unreachable {
                retry_after_ms: Some(7)
            }
        );
    }

    /// case D5: the other 4xx allow, 401 and 403 by a switch.
    #[test]
    fn the_switch_for_closed_doors() {
        let strict = RobotsPolicy {
            treat_401_403_as_disallow: true,
        };
        for code in [401, 403, 404, 410, 451] {
            assert_eq!(classify(code), Policy::AllowAll, "{code}");
            let expected = if code < 404 {
                Policy::DisallowAll
            } else {
                Policy::AllowAll
            };
            assert_eq!(
                strict.classify(&RobotsAnswer::Status {
                    code,
                    retry_after_ms: None
                }),
                expected,
                "{code}"
            );
        }
    }

    #[test]
    fn bodies_redirects_and_not_modified() {
        for code in [200, 204, 206] {
            assert_eq!(classify(code), Policy::Parse);
        }
        for code in [301, 302, 303, 307, 308] {
            assert_eq!(classify(code), Policy::Redirect);
        }
        assert_eq!(classify(304), Policy::NotModified);
    }
}
