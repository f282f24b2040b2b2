//! Call errors on the wire: a gRPC status with a typed detail in a trailer, and back.

use std::error::Error;

use pb::error_detail::Detail;
use proto::{ERROR_DETAIL_TRAILER, store_v1 as pb};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

use crate::StoreCallError;

impl From<StoreCallError> for Status {
    fn from(error: StoreCallError) -> Self {
        let mut status = Self::new(code(&error), error.to_string());
        if let Some(detail) = detail(error) {
            let detail = pb::ErrorDetail {
                detail: Some(detail),
            };
            let value = MetadataValue::from_bytes(&prost::Message::encode_to_vec(&detail));
            status
                .metadata_mut()
                .insert_bin(ERROR_DETAIL_TRAILER, value);
        }
        status
    }
}

impl From<Status> for StoreCallError {
    /// The typed detail where there is one; a status without it was not made by a store.
    fn from(status: Status) -> Self {
        read_detail(&status).unwrap_or_else(|| bare(&status))
    }
}

const fn code(error: &StoreCallError) -> Code {
    match error {
        StoreCallError::NoAnswer { .. } | StoreCallError::Unavailable { .. } => Code::Unavailable,
        StoreCallError::Full { .. } => Code::ResourceExhausted,
        StoreCallError::OverLimit { .. } if !error.is_final() => Code::ResourceExhausted,
        StoreCallError::OverLimit { .. } | StoreCallError::Invalid { .. } => Code::InvalidArgument,
        StoreCallError::NotAsAnnounced { .. } => Code::Aborted,
        StoreCallError::UnknownDigest => Code::NotFound,
        StoreCallError::Damaged { .. } => Code::DataLoss,
        StoreCallError::WrongStore { .. } => Code::FailedPrecondition,
    }
}

fn detail(error: StoreCallError) -> Option<Detail> {
    Some(match error {
        StoreCallError::NoAnswer { .. } => return None,
        StoreCallError::Full {
            reason,
            retry_after_ms,
        } => Detail::Full(pb::Full {
            reason,
            retry_after_ms,
        }),
        StoreCallError::Unavailable {
            reason,
            retry_after_ms,
        } => Detail::Unavailable(pb::Unavailable {
            reason,
            retry_after_ms,
        }),
        StoreCallError::OverLimit {
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
        StoreCallError::Invalid { reason } => Detail::Invalid(pb::Invalid { reason }),
        StoreCallError::NotAsAnnounced { reason } => {
            Detail::NotAsAnnounced(pb::NotAsAnnounced { reason })
        }
        StoreCallError::UnknownDigest => Detail::UnknownDigest(pb::UnknownDigest {}),
        StoreCallError::Damaged { reason } => Detail::Damaged(pb::Damaged { reason }),
        StoreCallError::WrongStore { store_id } => Detail::WrongStore(pb::WrongStore { store_id }),
    })
}

fn read_detail(status: &Status) -> Option<StoreCallError> {
    let bytes = status
        .metadata()
        .get_bin(ERROR_DETAIL_TRAILER)?
        .to_bytes()
        .ok()?;
    let detail: pb::ErrorDetail = prost::Message::decode(bytes).ok()?;
    Some(match detail.detail? {
        Detail::Full(d) => StoreCallError::Full {
            reason: d.reason,
            retry_after_ms: d.retry_after_ms,
        },
        Detail::Unavailable(d) => StoreCallError::Unavailable {
            reason: d.reason,
            retry_after_ms: d.retry_after_ms,
        },
        Detail::OverLimit(d) => StoreCallError::OverLimit {
            limit: d.limit,
            value: d.value,
            max: d.max,
            retry_after_ms: d.retry_after_ms,
        },
        Detail::Invalid(d) => StoreCallError::Invalid { reason: d.reason },
        Detail::NotAsAnnounced(d) => StoreCallError::NotAsAnnounced { reason: d.reason },
        Detail::UnknownDigest(_) => StoreCallError::UnknownDigest,
        Detail::Damaged(d) => StoreCallError::Damaged { reason: d.reason },
        Detail::WrongStore(d) => StoreCallError::WrongStore {
            store_id: d.store_id,
        },
    })
}

fn bare(status: &Status) -> StoreCallError {
    let mut reason = format!("{}: {}", status.code().description(), status.message());
    // The transport's own words are at the end of the chain: "Connection refused".
    let mut source = status.source();
    while let Some(error) = source {
        reason = format!("{reason}: {error}");
        source = error.source();
    }
    match status.code() {
        // What tonic answers to a message over its size limit.
        Code::OutOfRange => StoreCallError::OverLimit {
            limit: "message_size_bytes".to_owned(),
            value: 0,
            max: crate::limits::MESSAGE_SIZE_BYTES as u64,
            retry_after_ms: 0,
        },
        _ => StoreCallError::NoAnswer { reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_comes_back_as_it_was() {
        let (reason, retry_after_ms) = ("why".to_owned(), 250);
        let errors = [
            StoreCallError::Full {
                reason: reason.clone(),
                retry_after_ms,
            },
            StoreCallError::Unavailable {
                reason: reason.clone(),
                retry_after_ms,
            },
            StoreCallError::OverLimit {
                limit: "open_puts".to_owned(),
                value: 9,
                max: 8,
                retry_after_ms,
            },
            StoreCallError::Invalid {
                reason: reason.clone(),
            },
            StoreCallError::NotAsAnnounced {
                reason: reason.clone(),
            },
            StoreCallError::UnknownDigest,
            StoreCallError::Damaged { reason },
            StoreCallError::WrongStore { store_id: 65_537 },
        ];
        for error in errors {
            assert_eq!(StoreCallError::from(Status::from(error.clone())), error);
        }
    }

    #[test]
    fn a_full_disk_is_resource_exhausted_and_a_limit_for_good_is_not() {
        let full = StoreCallError::Full {
            reason: String::new(),
            retry_after_ms: 1,
        };
        assert_eq!(Status::from(full).code(), Code::ResourceExhausted);
        let too_large = StoreCallError::OverLimit {
            limit: String::new(),
            value: 2,
            max: 1,
            retry_after_ms: 0,
        };
        assert_eq!(Status::from(too_large).code(), Code::InvalidArgument);
    }

    #[test]
    fn a_status_that_no_store_made_is_no_answer() {
        for status in [
            Status::unavailable("x"),
            Status::unknown("x"),
            Status::unimplemented("x"),
            Status::invalid_argument("x"),
        ] {
            assert!(matches!(
                StoreCallError::from(status),
                StoreCallError::NoAnswer { .. }
            ));
        }
        let mut damaged = Status::unavailable("x");
        damaged.metadata_mut().insert_bin(
            ERROR_DETAIL_TRAILER,
            MetadataValue::from_bytes(&[255, 255, 255]),
        );
        assert!(matches!(
            StoreCallError::from(damaged),
            StoreCallError::NoAnswer { .. }
        ));
    }
}
