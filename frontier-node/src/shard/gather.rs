//! Calls that wait at the same moment share an entry.

use machine::Command;
use tokio::sync::mpsc;

use super::call::Call;
use crate::limits::{ENTRY_COMMANDS, ENTRY_SIZE_BYTES};

/// The calls of the next entry, within the bounds of an entry.
#[derive(Default)]
pub(super) struct Gathering {
    pub(super) calls: Vec<Call>,
    size_bytes: usize,
}

impl Gathering {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    fn is_full(&self) -> bool {
        self.calls.len() >= ENTRY_COMMANDS || self.size_bytes >= ENTRY_SIZE_BYTES
    }

    pub(super) fn push(&mut self, call: Call) {
        self.size_bytes += call.size_bytes;
        self.calls.push(call);
    }

    /// Adds what waits already, without waiting for more. Calls whose caller went away are left out.
    pub(super) fn fill(&mut self, queue: &mut mpsc::Receiver<Call>) {
        while !self.is_full() {
            let Ok(call) = queue.try_recv() else { break };
            self.push(call);
        }
        self.calls.retain(|call| !call.answer.is_closed());
    }

    /// The commands for the entry, and who waits for their replies.
    pub(super) fn take(&mut self) -> (Vec<Command>, Vec<Waiter>) {
        self.size_bytes = 0;
        let calls = std::mem::take(&mut self.calls);
        calls
            .into_iter()
            .map(|call| {
                (
                    call.command,
                    Waiter {
                        answer: call.answer,
                        _bytes: call.bytes,
                    },
                )
            })
            .unzip()
    }
}

/// Who waits for the reply to one command of an entry.
pub(super) struct Waiter {
    pub(super) answer: tokio::sync::oneshot::Sender<Result<super::Answer, client::CallError>>,
    _bytes: tokio::sync::OwnedSemaphorePermit,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::sync::{Semaphore, oneshot};

    fn call(
        size_bytes: usize,
    ) -> (
        Call,
        oneshot::Receiver<Result<super::super::Answer, client::CallError>>,
    ) {
        let (answer, receiver) = oneshot::channel();
        let bytes = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        (
            Call {
                command: Command { body: None },
                size_bytes,
                answer,
                bytes,
            },
            receiver,
        )
    }

    #[test]
    fn an_entry_is_bounded_in_commands_and_bytes() {
        let (sender, mut queue) = mpsc::channel(1_000);
        let mut kept = Vec::new();
        for _ in 0..500 {
            let (call, receiver) = call(10);
            kept.push(receiver);
            assert!(sender.try_send(call).is_ok());
        }
        let mut gathering = Gathering::default();
        gathering.fill(&mut queue);
        assert_eq!(gathering.take().0.len(), ENTRY_COMMANDS);
        assert!(gathering.is_empty());
        let (large, _receiver) = call(ENTRY_SIZE_BYTES * 2);
        gathering.push(large);
        gathering.fill(&mut queue);
        assert_eq!(
            gathering.take().0.len(),
            1,
            "one command always fits, and nothing beside a large one"
        );
    }

    #[test]
    fn a_call_whose_caller_went_away_costs_no_entry() {
        let (sender, mut queue) = mpsc::channel(10);
        let (gone, receiver) = call(1);
        drop(receiver);
        assert!(sender.try_send(gone).is_ok());
        let mut gathering = Gathering::default();
        gathering.fill(&mut queue);
        assert!(gathering.is_empty());
    }
}
