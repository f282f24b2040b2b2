//! Scrubs: how far, and what was found.

use page_store::{ScrubProblem, ScrubReport};
use proto::store_v1 as pb;

use crate::client::ScrubProgress;

/// What was read so far.
pub(crate) const fn progress_message(report: &ScrubReport, total_bytes: u64) -> pb::ScrubProgress {
    pb::ScrubProgress {
        records: report.records,
        bytes: report.bytes,
        total_bytes,
        payloads: report.payloads,
        payload_bytes: report.payload_bytes,
        problem_count: report.problem_count,
    }
}

/// The same, as it arrived.
pub(crate) const fn progress(message: &pb::ScrubProgress) -> ScrubProgress {
    ScrubProgress {
        records: message.records,
        bytes: message.bytes,
        total_bytes: message.total_bytes,
        payloads: message.payloads,
        payload_bytes: message.payload_bytes,
        problem_count: message.problem_count,
    }
}

/// One thing that is wrong.
pub(crate) fn problem_message(problem: &ScrubProblem) -> pb::ScrubProblem {
    pb::ScrubProblem {
        path: problem.path.to_string_lossy().into_owned(),
        offset_bytes: problem.offset_bytes,
        what: problem.what.clone(),
    }
}

/// The same, as it arrived.
pub(crate) fn problem(message: pb::ScrubProblem) -> ScrubProblem {
    ScrubProblem {
        path: message.path.into(),
        offset_bytes: message.offset_bytes,
        what: message.what,
    }
}
