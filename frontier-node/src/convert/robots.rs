//! What a robots.txt request found.

use bytes::Bytes;
use machine::command::report as m;
use machine::limits::ROBOTS_BODY_SIZE_BYTES;
use proto::frontier_v1 as pb;
use sha2::{Digest, Sha256};

use super::Rejected;
use crate::limits::{REASON_SIZE_BYTES, VALIDATOR_SIZE_BYTES};

/// Checks a finding; the digest of a body is computed again, since the body will be served under it.
pub(super) fn found_from_wire(found: pb::RobotsFound) -> Result<m::RobotsFound, Rejected> {
    use pb::robots_found::Code;
    let code = match found.code() {
        Code::Unspecified => return Err(Rejected("malformed")),
        Code::Rules => m::RobotsCode::Rules,
        Code::AllowAll => m::RobotsCode::AllowAll,
        Code::Unreachable => m::RobotsCode::Unreachable,
        Code::NotModified => m::RobotsCode::NotModified,
        Code::Pending => m::RobotsCode::Pending,
    };
    if code == m::RobotsCode::Rules {
        if found.body.len() > ROBOTS_BODY_SIZE_BYTES {
            return Err(Rejected("robots_body_size"));
        }
        if Sha256::digest(&found.body).as_slice() != found.digest.as_ref() {
            return Err(Rejected("robots_digest"));
        }
    } else if !found.body.is_empty() || !found.digest.is_empty() {
        return Err(Rejected("robots_body_without_rules"));
    }
    let (etag, last_modified) = validators_from_wire(found.validators);
    Ok(m::RobotsFound {
        code: code.into(),
        body: found.body.into(),
        digest: found.digest.into(),
        crawl_delay_ms: found.crawl_delay_ms,
        status: found.status,
        reason: reason_from_wire(found.reason)?,
        etag,
        last_modified,
        no_valid_line: found.no_valid_line,
    })
}

pub(super) fn found_to_wire(found: m::RobotsFound) -> pb::RobotsFound {
    use pb::robots_found::Code;
    let code = match found.code() {
        m::RobotsCode::Rules => Code::Rules,
        m::RobotsCode::AllowAll => Code::AllowAll,
        m::RobotsCode::Unreachable => Code::Unreachable,
        m::RobotsCode::NotModified => Code::NotModified,
        m::RobotsCode::Pending => Code::Pending,
    };
    pb::RobotsFound {
        code: code.into(),
        body: Bytes::from(found.body),
        digest: Bytes::from(found.digest),
        crawl_delay_ms: found.crawl_delay_ms,
        status: found.status,
        reason: found.reason,
        validators: validators_to_wire(found.etag, found.last_modified),
        no_valid_line: found.no_valid_line,
    }
}

/// A reason is a short name.
pub(super) fn reason_from_wire(reason: String) -> Result<String, Rejected> {
    if reason.len() > REASON_SIZE_BYTES {
        Err(Rejected("reason_size"))
    } else {
        Ok(reason)
    }
}

/// Validators as (ETag, Last-Modified). An over-long one is dropped rather than refused: refusing would make the page
/// come again for ever, dropping only makes its next visit unconditional.
pub(super) fn validators_from_wire(validators: Option<pb::Validators>) -> (String, String) {
    let fits = |text: String| {
        if text.len() > VALIDATOR_SIZE_BYTES {
            String::new()
        } else {
            text
        }
    };
    validators
        .map(|v| (fits(v.etag), fits(v.last_modified)))
        .unwrap_or_default()
}

pub(super) fn validators_to_wire(etag: String, last_modified: String) -> Option<pb::Validators> {
    (!etag.is_empty() || !last_modified.is_empty()).then_some(pb::Validators {
        etag,
        last_modified,
    })
}
