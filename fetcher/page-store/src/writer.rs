//! The one thread that writes: takes what waits, makes it durable together, answers.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use tokio::sync::oneshot;

use crate::disk::Disk;
use crate::error::PutError;
use crate::gate::Pass;
use crate::journal::Journal;
use crate::page::Place;
use crate::prepare::ReadyRecord;

/// A record that waits to be durable.
pub(crate) struct Request {
    pub(crate) record: ReadyRecord,
    /// Held until the record is answered.
    pub(crate) pass: Pass,
    pub(crate) reply: oneshot::Sender<Result<Place, PutError>>,
}

/// Runs until all senders are gone. The channel has no bound of its own: each request in it holds a [`Pass`].
pub(crate) fn run<D: Disk>(
    mut journal: Journal<D>,
    requests: &Receiver<Request>,
    group_max_size_bytes: u64,
) {
    loop {
        let first = match journal.flush_at() {
            None => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => requests.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        match first {
            Ok(first) => write_group(
                &mut journal,
                take_group(first, requests, group_max_size_bytes),
            ),
            Err(RecvTimeoutError::Timeout) => journal.flush_index(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // Under constant load the wait above never times out.
        if journal.flush_at().is_some_and(|at| at <= Instant::now()) {
            journal.flush_index();
        }
    }
}

/// All that wait now, up to the bound.
fn take_group(
    first: Request,
    requests: &Receiver<Request>,
    group_max_size_bytes: u64,
) -> Vec<Request> {
    let mut size_bytes = first.record.member.0.len() as u64;
    let mut group = vec![first];
    while size_bytes < group_max_size_bytes {
        let Ok(next) = requests.try_recv() else {
            break;
        };
        size_bytes += next.record.member.0.len() as u64;
        group.push(next);
    }
    group
}

/// Writes a group as runs, each within one segment and with one fsync.
fn write_group<D: Disk>(journal: &mut Journal<D>, mut group: Vec<Request>) {
    while !group.is_empty() {
        let sizes_bytes = group
            .iter()
            .map(|request| request.record.member.0.len() as u64);
        let run_len = match journal.make_room(sizes_bytes) {
            Ok(run_len) => run_len,
            Err(error) => return answer_all(group, &error.into()),
        };
        let rest = group.split_off(run_len);
        let run = std::mem::replace(&mut group, rest);
        let records: Vec<&ReadyRecord> = run.iter().map(|request| &request.record).collect();
        match journal.append(&records) {
            Ok(places) => run
                .into_iter()
                .zip(places)
                .for_each(|(request, place)| answer(request, Ok(place))),
            Err(error) => answer_all(run, &error.into()),
        }
    }
}

fn answer_all(requests: Vec<Request>, error: &PutError) {
    requests
        .into_iter()
        .for_each(|request| answer(request, Err(error.clone())));
}

fn answer(request: Request, outcome: Result<Place, PutError>) {
    let Request {
        record,
        pass,
        reply,
    } = request;
    // First the claim ends, so that who is answered and asks again finds none of its own.
    drop(record);
    drop(pass);
    // Nobody may be waiting any more: the record is stored all the same.
    let _ = reply.send(outcome);
}
