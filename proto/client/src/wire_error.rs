//! Call errors on the wire: a gRPC status with a typed detail in a trailer, and back.

use crate::CallError;
use pb::error_detail::Detail;
use proto::{ERROR_DETAIL_TRAILER, frontier_v1 as pb};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

impl From<CallError> for Status {
    fn from(error: CallError) -> Self {
        let code = code(&error);
        let message = error.to_string();
        let detail = pb::ErrorDetail {
            detail: Some(detail(error)),
        };
        let mut status = Self::new(code, message);
        let value = MetadataValue::from_bytes(&prost::Message::encode_to_vec(&detail));
        status
            .metadata_mut()
            .insert_bin(ERROR_DETAIL_TRAILER, value);
        status
    }
}

impl From<Status> for CallError {
    /// The typed detail where there is one; else what the code says (a proxy or the transport made the status).
    fn from(status: Status) -> Self {
        read_detail(&status).unwrap_or_else(|| bare(&status))
    }
}

fn code(error: &CallError) -> Code {
    match error {
        CallError::NotLeader { .. } | CallError::WrongShard { .. } | CallError::NotHere { .. } => {
            Code::FailedPrecondition
        }
        CallError::OverLimit { .. } => Code::ResourceExhausted,
        CallError::StaleCall { .. } => Code::Aborted,
        CallError::Invalid { .. } => Code::InvalidArgument,
        CallError::Unavailable { .. } => Code::Unavailable,
    }
}

fn detail(error: CallError) -> Detail {
    match error {
        CallError::NotLeader { leader_address } => {
            Detail::NotLeader(pb::NotLeader { leader_address })
        }
        CallError::WrongShard { map_version } => Detail::WrongShard(pb::WrongShard { map_version }),
        CallError::NotHere {
            map_version,
            replica_addresses,
        } => Detail::NotHere(pb::NotHere {
            map_version,
            replica_addresses,
        }),
        CallError::OverLimit {
            limit,
            value,
            max,
            retry_after_ms,
        } => Detail::OverLimit(pb::OverLimit {
            limit,
            value,
            max,
            retry_after_ms,
        }),
        CallError::StaleCall { newest_number } => {
            Detail::StaleCall(pb::StaleCall { newest_number })
        }
        CallError::Invalid { index, reason } => {
            Detail::InvalidItem(pb::InvalidItem { index, reason })
        }
        CallError::Unavailable {
            reason,
            retry_after_ms,
        } => Detail::Unavailable(pb::Unavailable {
            reason,
            retry_after_ms,
        }),
    }
}

fn read_detail(status: &Status) -> Option<CallError> {
    let bytes = status
        .metadata()
        .get_bin(ERROR_DETAIL_TRAILER)?
        .to_bytes()
        .ok()?;
    let detail: pb::ErrorDetail = prost::Message::decode(bytes).ok()?;
    Some(match detail.detail? {
        Detail::NotLeader(d) => CallError::NotLeader {
            leader_address: d.leader_address,
        },
        Detail::WrongShard(d) => CallError::WrongShard {
            map_version: d.map_version,
        },
        Detail::NotHere(d) => CallError::NotHere {
            map_version: d.map_version,
            replica_addresses: d.replica_addresses,
        },
        Detail::OverLimit(d) => CallError::OverLimit {
            limit: d.limit,
            value: d.value,
            max: d.max,
            retry_after_ms: d.retry_after_ms,
        },
        Detail::StaleCall(d) => CallError::StaleCall {
            newest_number: d.newest_number,
        },
        Detail::InvalidItem(d) => CallError::Invalid {
            index: d.index,
            reason: d.reason,
        },
        Detail::Unavailable(d) => CallError::Unavailable {
            reason: d.reason,
            retry_after_ms: d.retry_after_ms,
        },
    })
}

fn bare(status: &Status) -> CallError {
    let reason = format!("{}: {}", status.code().description(), status.message());
    match status.code() {
        // Such a node serves the handshake alone; another one may answer, and so will it later.
        Code::Unimplemented => CallError::Unavailable {
            reason: "the node is still joining its cluster".to_owned(),
            retry_after_ms: 0,
        },
        Code::InvalidArgument => CallError::Invalid { index: 0, reason },
        // What tonic answers to a message over its size limit.
        Code::OutOfRange => CallError::OverLimit {
            limit: "message_size_bytes".to_owned(),
            value: 0,
            max: crate::limits::MESSAGE_SIZE_BYTES as u64,
            retry_after_ms: 0,
        },
        _ => CallError::Unavailable {
            reason,
            retry_after_ms: 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_comes_back_as_it_was() {
        let errors = [
            CallError::NotLeader {
                leader_address: "127.0.0.1:7".into(),
            },
            CallError::WrongShard { map_version: 3 },
            CallError::NotHere {
                map_version: 4,
                replica_addresses: vec!["127.0.0.2:7".into(), "127.0.0.3:7".into()],
            },
            CallError::OverLimit {
                limit: "items".into(),
                value: 9,
                max: 8,
                retry_after_ms: 7,
            },
            CallError::StaleCall { newest_number: 5 },
            CallError::Invalid {
                index: 2,
                reason: "no url".into(),
            },
            CallError::Unavailable {
                reason: "disk full".into(),
                retry_after_ms: 100,
            },
        ];
        for error in errors {
            assert_eq!(CallError::from(Status::from(error.clone())), error);
        }
    }

    #[test]
    fn a_status_without_detail_is_read_by_its_code() {
        assert!(CallError::from(Status::unavailable("x")).is_retryable());
        assert!(CallError::from(Status::unknown("x")).is_retryable());
        let joining = CallError::from(Status::unimplemented(""));
        assert!(joining.is_retryable());
        assert!(joining.to_string().contains("still joining its cluster"));
        assert!(matches!(
            CallError::from(Status::invalid_argument("x")),
            CallError::Invalid { .. }
        ));
        assert!(matches!(
            CallError::from(Status::out_of_range("x")),
            CallError::OverLimit { .. }
        ));
    }

    #[test]
    fn a_damaged_detail_falls_back_to_the_code() {
        let mut status = Status::unavailable("x");
        status.metadata_mut().insert_bin(
            ERROR_DETAIL_TRAILER,
            MetadataValue::from_bytes(&[255, 255, 255]),
        );
        assert!(matches!(
            CallError::from(status),
            CallError::Unavailable { .. }
        ));
    }
}
