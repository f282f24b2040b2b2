//! A scrub of a remote store.

use page_store::{ScrubProblem, ScrubReport};
use pb::scrub_response::Part;
use proto::store_v1 as pb;

use super::StoreClient;
use crate::limits::SCRUB_TIMEOUT_MS;
use crate::{StoreCallError, wire};

/// How far a scrub is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubProgress {
    /// Whole records read so far.
    pub records: u64,
    /// Their compressed bytes.
    pub bytes: u64,
    /// Compressed bytes of all records when it began.
    pub total_bytes: u64,
    /// Payloads whose bytes match their digest.
    pub payloads: u64,
    /// Bytes of those payloads.
    pub payload_bytes: u64,
    /// Problems so far.
    pub problem_count: u64,
}

/// What a scrub tells while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScrubEvent {
    /// How far it is.
    Progress(ScrubProgress),
    /// Something is wrong.
    Problem(ScrubProblem),
}

impl StoreClient {
    /// Has the store read and check every record; `on_event` hears how it goes. Dropping the future ends it.
    pub async fn scrub(
        &self,
        mut on_event: impl FnMut(ScrubEvent) + Send,
    ) -> Result<ScrubReport, StoreCallError> {
        let request = pb::ScrubRequest {
            store_id: self.store_id,
        };
        let mut grpc = self.grpc.clone();
        let mut messages = self.answer(grpc.scrub(request)).await?;
        let mut problems = Vec::new();
        while let Some(message) = self.within(SCRUB_TIMEOUT_MS, messages.message()).await? {
            match message.part {
                Some(Part::Progress(progress)) => {
                    on_event(ScrubEvent::Progress(wire::progress(&progress)));
                }
                Some(Part::Problem(problem)) => {
                    let problem = wire::problem(problem);
                    on_event(ScrubEvent::Problem(problem.clone()));
                    if problems.len() < page_store::limits::SCRUB_PROBLEMS_MAX_COUNT {
                        problems.push(problem);
                    }
                }
                Some(Part::Done(done)) => {
                    return Ok(ScrubReport {
                        records: done.records,
                        bytes: done.bytes,
                        payloads: done.payloads,
                        payload_bytes: done.payload_bytes,
                        problem_count: done.problem_count,
                        problems,
                    });
                }
                None => return Err(self.nonsense()),
            }
        }
        Err(StoreCallError::no_answer(format!(
            "{} ended the scrub",
            self.address
        )))
    }
}
