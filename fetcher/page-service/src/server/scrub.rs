//! A scrub, told as it goes.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use page_store::ScrubReport;
use pb::scrub_response::Part;
use proto::store_v1 as pb;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::Shared;
use crate::limits::{PROGRESS_SIZE_BYTES, SCRUB_RETRY_MS, STREAM_MESSAGES};
use crate::{StoreCallError, wire};

/// Begins a scrub; it ends early when its reader is gone.
pub(super) fn serve(
    shared: &Arc<Shared>,
    request: pb::ScrubRequest,
) -> Result<ReceiverStream<Result<pb::ScrubResponse, Status>>, StoreCallError> {
    shared.check_id(request.store_id)?;
    let turn = Arc::clone(&shared.scrubs)
        .try_acquire_owned()
        .map_err(|_| StoreCallError::OverLimit {
            limit: "scrubs".to_owned(),
            value: 2,
            max: 1,
            retry_after_ms: SCRUB_RETRY_MS,
        })?;
    let (parts, stream) = mpsc::channel(STREAM_MESSAGES);
    let mut teller = Teller {
        parts,
        runtime: Handle::current(),
        timeout: Duration::from_millis(shared.options.part_timeout_ms),
        total_bytes: shared.store.stats().bytes,
        told_bytes: 0,
        told_problems: 0,
    };
    let store = Arc::clone(&shared.store);
    tokio::task::spawn_blocking(move || {
        let report = store.scrub_watched(&mut |report| teller.tell(report));
        // Before the end is told: whoever heard it may ask for the next one.
        drop(turn);
        if teller.problems(&report).is_continue() {
            let _ = teller.send(Part::Done(wire::progress_message(
                &report,
                teller.total_bytes,
            )));
        }
    });
    Ok(ReceiverStream::new(stream))
}

/// Tells what is new in a report.
struct Teller {
    parts: mpsc::Sender<Result<pb::ScrubResponse, Status>>,
    runtime: Handle,
    timeout: Duration,
    total_bytes: u64,
    told_bytes: u64,
    told_problems: usize,
}

impl Teller {
    fn tell(&mut self, report: &ScrubReport) -> ControlFlow<()> {
        self.problems(report)?;
        if report.bytes < self.told_bytes + PROGRESS_SIZE_BYTES {
            // Also noticed between two messages, so that an abandoned scrub does not read on.
            return if self.parts.is_closed() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            };
        }
        self.told_bytes = report.bytes;
        self.send(Part::Progress(wire::progress_message(
            report,
            self.total_bytes,
        )))
    }

    fn problems(&mut self, report: &ScrubReport) -> ControlFlow<()> {
        while let Some(problem) = report.problems.get(self.told_problems) {
            self.told_problems += 1;
            self.send(Part::Problem(wire::problem_message(problem)))?;
        }
        ControlFlow::Continue(())
    }

    /// Breaks when the reader is gone or takes nothing more.
    fn send(&self, part: Part) -> ControlFlow<()> {
        let sending = self.parts.send(Ok(pb::ScrubResponse { part: Some(part) }));
        let sent = self
            .runtime
            .block_on(async { tokio::time::timeout(self.timeout, sending).await });
        match sent {
            Ok(Ok(())) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}
