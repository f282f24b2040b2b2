//! Errors of a transport as gRPC statuses, as failures of one heartbeat, and back.

use proto::raft_v1::Failure;
use proto::raft_v1::failure::Kind;
use raftlog::{GroupId, TransportError};
use tonic::{Code, Status};

use crate::limits::MAX_REASON_CHARS;

fn cut(reason: &str) -> String {
    reason.chars().take(MAX_REASON_CHARS).collect()
}

/// What a receiver answers.
pub(crate) fn to_status(error: &TransportError) -> Status {
    let (code, reason) = match error {
        TransportError::Unreachable(reason) => (Code::Unavailable, cut(reason)),
        TransportError::TimedOut => (Code::DeadlineExceeded, error.to_string()),
        TransportError::NoGroup(_) => (Code::NotFound, error.to_string()),
        TransportError::NoReplica { .. } => (Code::Aborted, error.to_string()),
        TransportError::Malformed(reason) => (Code::InvalidArgument, cut(reason)),
        TransportError::Remote(reason) => (Code::Aborted, cut(reason)),
    };
    Status::new(code, reason)
}

/// What a sender makes of an answer about a group. Codes that gRPC itself gives when a connection breaks mean that the
/// target was not reached.
pub(crate) fn from_status(group_id: GroupId, status: &Status) -> TransportError {
    let reason = || cut(status.message());
    match status.code() {
        Code::DeadlineExceeded => TransportError::TimedOut,
        Code::NotFound => TransportError::NoGroup(group_id),
        Code::InvalidArgument | Code::OutOfRange => TransportError::Malformed(reason()),
        Code::Aborted | Code::FailedPrecondition | Code::Unimplemented => {
            TransportError::Remote(reason())
        }
        _ => TransportError::Unreachable(format!("{}{}", reason(), causes(status))),
    }
}

/// The words of what lies under a status: without them a broken connection is only a "transport error".
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut words = String::new();
    let mut next = error.source();
    while let Some(cause) = next {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        next = cause.source();
    }
    cut(&words)
}

/// What a receiver answers to one heartbeat.
pub(crate) fn to_failure(error: &TransportError) -> Failure {
    let (kind, reason) = match error {
        TransportError::Unreachable(reason) => (Kind::Unreachable, cut(reason)),
        TransportError::TimedOut => (Kind::TimedOut, String::new()),
        TransportError::NoGroup(_) => (Kind::NoGroup, String::new()),
        TransportError::NoReplica { .. } => (Kind::Remote, error.to_string()),
        TransportError::Malformed(reason) => (Kind::Malformed, cut(reason)),
        TransportError::Remote(reason) => (Kind::Remote, cut(reason)),
    };
    Failure {
        kind: kind.into(),
        reason,
    }
}

/// What a sender makes of it.
pub(crate) fn from_failure(group_id: GroupId, failure: &Failure) -> TransportError {
    let reason = cut(&failure.reason);
    match failure.kind() {
        Kind::Unreachable => TransportError::Unreachable(reason),
        Kind::TimedOut => TransportError::TimedOut,
        Kind::NoGroup => TransportError::NoGroup(group_id),
        Kind::Malformed => TransportError::Malformed(reason),
        Kind::Remote | Kind::Unspecified => TransportError::Remote(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_survive_the_way_back() {
        for error in [
            TransportError::Unreachable("starting".to_owned()),
            TransportError::TimedOut,
            TransportError::NoGroup(7),
            TransportError::Malformed("what".to_owned()),
            TransportError::Remote("disk full".to_owned()),
        ] {
            assert_eq!(from_status(7, &to_status(&error)), error);
            assert_eq!(from_failure(7, &to_failure(&error)), error);
        }
    }

    #[test]
    fn a_replica_that_is_not_there_is_a_refusal() {
        let error = TransportError::NoReplica {
            group_id: 7,
            replica: 3,
        };
        let refusal = TransportError::Remote(error.to_string());
        assert_eq!(from_status(7, &to_status(&error)), refusal);
        assert_eq!(from_failure(7, &to_failure(&error)), refusal);
    }

    #[test]
    fn a_long_reason_is_cut() {
        let error = TransportError::Remote("\u{e9}".repeat(100_000));
        assert_eq!(
            to_status(&error).message().chars().count(),
            MAX_REASON_CHARS
        );
        assert_eq!(to_failure(&error).reason.chars().count(), MAX_REASON_CHARS);
    }

    #[test]
    fn a_kind_of_a_later_version_is_a_refusal() {
        let failure = Failure {
            kind: 99,
            reason: "new".to_owned(),
        };
        assert_eq!(
            from_failure(1, &failure),
            TransportError::Remote("new".to_owned())
        );
    }
}
