//! Reports and releases: ends of leases.

use client::limits::{REPORT_ITEMS, REPORT_SIZE_BYTES};
use machine::command::{release, report as m};
use machine::limits::UNDELIVERED_PER_REPORT;
use proto::frontier_v1 as pb;
use urlkey::limits::HARD_MAX_URL_BYTES;

use super::lease::key_from_wire;
use super::robots::{found_from_wire, reason_from_wire, validators_from_wire};
use super::{Rejected, Verifier, item_from_wire};
use crate::limits::STORES_PER_REPORT;

const _: () = assert!(REPORT_ITEMS == machine::limits::REPORT_ITEMS);
const _: () = assert!(REPORT_SIZE_BYTES < raftlog::limits::MAX_PAYLOAD_BYTES);

/// Checks one report. Undelivered items that are refused have their final answer and go no further; `dropped` counts
/// them.
pub(crate) fn report_from_wire(
    verifier: &Verifier,
    report: pb::Report,
    dropped: &mut u64,
) -> Result<m::Report, Rejected> {
    let key = report
        .key
        .as_ref()
        .and_then(key_from_wire)
        .ok_or(Rejected("lease_key"))?;
    if report.undelivered.len() > UNDELIVERED_PER_REPORT {
        return Err(Rejected("undelivered_items"));
    }
    let outcome = outcome_from_wire(report.outcome.ok_or(Rejected("no_outcome"))?)?;
    let mut undelivered = Vec::with_capacity(report.undelivered.len());
    for item in report.undelivered {
        match item_from_wire(verifier, item) {
            Ok(item) => undelivered.push(item),
            Err(_) => *dropped += 1,
        }
    }
    let contact = report.contact.map(|contact| m::Contact {
        nothing_written: contact.nothing_written,
        since_first_byte_ms: contact.since_first_byte_ms,
        since_end_ms: contact.since_end_ms,
        response_time_ms: contact.response_time_ms,
        retry_after_ms: contact.retry_after_ms,
    });
    Ok(m::Report {
        key: Some(key),
        token: report.token,
        contact,
        outcome: Some(outcome),
        undelivered,
    })
}

fn outcome_from_wire(outcome: pb::report::Outcome) -> Result<m::Outcome, Rejected> {
    Ok(match outcome {
        pb::report::Outcome::Page(page) => m::Outcome::Page(page_from_wire(page)?),
        pb::report::Outcome::Robots(robots) => {
            let found = robots.found.map(found_from_wire).transpose()?;
            if found.is_none() && !robots.requeue {
                return Err(Rejected("no_outcome"));
            }
            m::Outcome::Robots(m::RobotsOutcome {
                found,
                requeue: robots.requeue,
            })
        }
        pb::report::Outcome::Errand(errand) => m::Outcome::Errand(m::ErrandOutcome {
            delivered: errand.delivered,
            requeue: errand.requeue,
            failed: errand.failed,
        }),
    })
}

fn page_from_wire(page: pb::PageOutcome) -> Result<m::PageOutcome, Rejected> {
    let code = page_code(page.code()).ok_or(Rejected("page_code"))?;
    let digest_fits =
        page.digest.len() == 32 || (page.digest.is_empty() && code != m::PageCode::Stored);
    if !digest_fits {
        return Err(Rejected("digest_size"));
    }
    if page.stores.len() > STORES_PER_REPORT {
        return Err(Rejected("stores"));
    }
    let (etag, last_modified) = validators_from_wire(page.validators);
    // As with validators: an over-long target is not kept, the outcome is.
    let redirect_target = if page.redirect_target.len() > HARD_MAX_URL_BYTES {
        String::new()
    } else {
        page.redirect_target
    };
    Ok(m::PageOutcome {
        code: code.into(),
        status: page.status,
        reason: reason_from_wire(page.reason)?,
        digest: page.digest.into(),
        payload_size_bytes: page.payload_size_bytes,
        etag,
        last_modified,
        stores: page.stores,
        redirect_target,
        truncated: page.truncated,
    })
}

const fn page_code(code: pb::page_outcome::Code) -> Option<m::PageCode> {
    use pb::page_outcome::Code;
    Some(match code {
        Code::Unspecified => return None,
        Code::Stored => m::PageCode::Stored,
        Code::NotModified => m::PageCode::NotModified,
        Code::Redirect => m::PageCode::Redirect,
        Code::HttpError => m::PageCode::HttpError,
        Code::HttpBusy => m::PageCode::HttpBusy,
        Code::NetworkError => m::PageCode::NetworkError,
        Code::Disallowed => m::PageCode::Disallowed,
        Code::Refused => m::PageCode::Refused,
        Code::DnsNotFound => m::PageCode::DnsNotFound,
        Code::Requeue => m::PageCode::Requeue,
    })
}

/// Checks one release.
pub(crate) fn release_from_wire(item: &pb::ReleaseItem) -> Result<release::Release, Rejected> {
    let key = item
        .key
        .as_ref()
        .and_then(key_from_wire)
        .ok_or(Rejected("lease_key"))?;
    Ok(release::Release {
        key: Some(key),
        token: item.token,
    })
}

/// The answer for one report or release.
pub(crate) fn report_result(result: &m::ReportResult) -> pb::ReportResult {
    use pb::report_result::Code;
    let (code, reason) = match result {
        m::ReportResult::Closed => (Code::Closed, ""),
        m::ReportResult::Requeued => (Code::Requeued, "outbox_full"),
        m::ReportResult::LeaseLost(reason) => (Code::LeaseLost, reason.name()),
        m::ReportResult::WrongShard => (Code::WrongShard, ""),
        m::ReportResult::Invalid(reason) => (Code::Invalid, *reason),
    };
    pb::ReportResult {
        code: code.into(),
        reason: reason.to_owned(),
    }
}

/// The answer for a report or release that did not pass the checks.
pub(crate) fn invalid_result(rejected: Rejected) -> pb::ReportResult {
    pb::ReportResult {
        code: pb::report_result::Code::Invalid.into(),
        reason: rejected.0.to_owned(),
    }
}
