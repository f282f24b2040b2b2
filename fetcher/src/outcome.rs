//! From what happened to what is reported: one place decides which code and reason every ending has.

use pb::page_outcome::Code;
use proto::frontier_v1 as pb;
use reqwest::StatusCode;

use crate::addresses::AddressError;
use crate::decode::DecodeError;
use crate::dns::DnsError;
use crate::http::FetchError;
use crate::limits::MAX_REASON_BYTES;

/// How a lease ends here.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// It is reported.
    Report {
        /// What is said of it.
        outcome: pb::report::Outcome,
        /// Items whose owner could not be reached.
        undelivered: Vec<pb::DiscoverItem>,
    },
    /// It is given back: nothing was started.
    Release,
}

impl End {
    pub(crate) fn page(outcome: pb::PageOutcome, undelivered: Vec<pb::DiscoverItem>) -> Self {
        Self::Report {
            outcome: pb::report::Outcome::Page(outcome),
            undelivered,
        }
    }

    pub(crate) fn robots(
        found: Option<pb::RobotsFound>,
        undelivered: Vec<pb::DiscoverItem>,
    ) -> Self {
        let requeue = found.is_none();
        Self::Report {
            outcome: pb::report::Outcome::Robots(pb::RobotsOutcome { found, requeue }),
            undelivered,
        }
    }
}

/// A page outcome without anything but code, status and reason.
pub(crate) fn page_outcome(code: Code, status: u16, reason: &str) -> pb::PageOutcome {
    debug_assert!(reason.len() <= MAX_REASON_BYTES);
    pb::PageOutcome {
        code: code.into(),
        status: status.into(),
        reason: reason.to_owned(),
        ..Default::default()
    }
}

/// A response that is kept by nobody: 429 and 5xx come again, the rest is final.
pub(crate) fn status_outcome(status: StatusCode) -> pb::PageOutcome {
    let code = if is_busy(status) {
        Code::HttpBusy
    } else {
        Code::HttpError
    };
    page_outcome(code, status.as_u16(), &format!("http_{}", status.as_u16()))
}

/// Whether the host asks for less.
pub(crate) fn is_busy(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

/// A fetch that failed.
pub(crate) fn failure_outcome(error: FetchError, status: u16) -> pb::PageOutcome {
    page_outcome(failure_code(error), status, error.reason())
}

/// Which code a failure has. Rules of ours and bytes that can never be used are final; what may be the network's or the
/// moment's fault comes again; what is our own fault costs no attempt.
pub(crate) fn failure_code(error: FetchError) -> Code {
    match error {
        FetchError::Url
        | FetchError::Override
        | FetchError::Address(AddressError::Private | AddressError::Mixed)
        | FetchError::Ratio
        | FetchError::BodyTooLarge => Code::Refused,
        FetchError::Dns(DnsError::NotFound) => Code::DnsNotFound,
        FetchError::HeadersTooLarge
        | FetchError::Protocol
        | FetchError::Decode(DecodeError::Unsupported | DecodeError::Damaged) => Code::HttpError,
        FetchError::OutOfTime | FetchError::Fenced | FetchError::Memory => Code::Requeue,
        FetchError::Address(AddressError::Null)
        | FetchError::Dns(DnsError::Failed | DnsError::Timeout)
        | FetchError::ConnectRefused
        | FetchError::ConnectTimeout
        | FetchError::ConnectUnreachable
        | FetchError::ConnectFailed
        | FetchError::TlsCertificate
        | FetchError::TlsHandshake
        | FetchError::FirstByteTimeout
        | FetchError::Reset
        | FetchError::NoResponse
        | FetchError::IdleTimeout
        | FetchError::FetchTimeout
        | FetchError::TooSlow
        | FetchError::IncompleteBody
        | FetchError::Decode(DecodeError::Incomplete) => Code::NetworkError,
    }
}

/// What a lease of this kind is told when its task ended without an end of its own.
///
/// After a panic the work itself is the likely cause: it costs an attempt, so that it cannot come for ever. After a stop
/// it is put back at no cost.
pub(crate) fn orphan_end(kind: pb::lease_key::Kind, panicked: bool) -> End {
    use pb::lease_key::Kind;
    let reason = if panicked {
        "fetcher_panic"
    } else {
        "fetcher_stopped"
    };
    match kind {
        Kind::Robots if panicked => {
            let code = pb::robots_found::Code::Unreachable.into();
            End::robots(
                Some(pb::RobotsFound {
                    code,
                    reason: reason.to_owned(),
                    ..Default::default()
                }),
                Vec::new(),
            )
        }
        Kind::Robots => End::robots(None, Vec::new()),
        Kind::Errand => {
            let outcome = pb::report::Outcome::Errand(pb::ErrandOutcome {
                requeue: true,
                ..Default::default()
            });
            End::Report {
                outcome,
                undelivered: Vec::new(),
            }
        }
        Kind::Page | Kind::Unspecified => {
            let code = if panicked {
                Code::NetworkError
            } else {
                Code::Requeue
            };
            End::page(page_outcome(code, 0, reason), Vec::new())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn code_of(status: u16) -> (i32, String) {
        let outcome = status_outcome(StatusCode::from_u16(status).unwrap());
        (outcome.code, outcome.reason)
    }

    /// case D5, case G25: statuses speak for themselves.
    #[test]
    fn statuses() {
        for status in [400, 401, 403, 404, 407, 410, 451, 300, 305, 306] {
            assert_eq!(
                code_of(status),
                (Code::HttpError.into(), format!("http_{status}"))
            );
        }
        for status in [429, 500, 502, 503, 504, 599] {
            assert_eq!(code_of(status).0, i32::from(Code::HttpBusy), "{status}");
        }
    }

    /// case I7: a name that does not exist is an answer; servers that fail are not.
    #[test]
    fn name_failures_differ() {
        assert_eq!(failure_code(DnsError::NotFound.into()), Code::DnsNotFound);
        assert_eq!(failure_code(DnsError::Failed.into()), Code::NetworkError);
        assert_eq!(failure_code(DnsError::Timeout.into()), Code::NetworkError);
        // case I10
        assert_eq!(failure_code(AddressError::Null.into()), Code::NetworkError);
    }

    #[test]
    fn our_own_faults_cost_nothing() {
        for error in [
            FetchError::OutOfTime,
            FetchError::Fenced,
            FetchError::Memory,
        ] {
            assert_eq!(failure_code(error), Code::Requeue);
        }
    }

    /// case B19: a panic costs an attempt, a stop does not.
    #[test]
    fn orphans() {
        let page = |panicked| match orphan_end(pb::lease_key::Kind::Page, panicked) {
            End::Report {
                outcome: pb::report::Outcome::Page(page),
                ..
            } => page.code,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (page(true), page(false)),
            (Code::NetworkError.into(), Code::Requeue.into())
        );
    }
}
