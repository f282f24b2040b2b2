//! I17: a URL's row says where the URL is: waiting ones are queued or leased as tried, scheduled ones have their visit.
//!
//! Closes: a tried URL whose fields (they live in its row alone) are gone when it is leased again; a record that answers
//! "scheduled for Friday" while nothing is scheduled.

use super::{View, Violation, violation::ensure};
use crate::{command::lease::LeaseKind, keys::url::Stored};

const NUMBER: &str = "I17";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let mut open = view.schedule.len();
    let queued = view
        .queue
        .iter()
        .map(|row| ((row.host.0, row.place.fingerprint), row.row.tried));
    let leased = view
        .leases
        .iter()
        .filter(|(key, _)| key.1 == LeaseKind::Page as i32);
    let leased = leased.map(|(key, row)| ((key.0, key.2), row.tried));
    for (key, tried) in queued.chain(leased) {
        // A visit that came due is told apart by its schedule row being gone.
        let state = view.urls.get(&key).map(|row| row.state());
        let waits = matches!(state, Some(Stored::Waiting | Stored::Scheduled));
        ensure(if tried { waits } else { state.is_none() }, NUMBER, || {
            format!("URL {key:x?} waits, tried {tried}, its row says {state:?}")
        })?;
        open += usize::from(tried);
    }
    for visit in &view.schedule {
        let key = (visit.host.0, visit.fingerprint);
        let date = view
            .urls
            .get(&key)
            .filter(|row| row.state() == Stored::Scheduled)
            .map(|row| row.next_visit_unix_ms);
        ensure(date == Some(visit.due_unix_ms), NUMBER, || {
            format!(
                "visit of {key:x?} at {}, its row says {date:?}",
                visit.due_unix_ms
            )
        })?;
    }
    let rows = view
        .urls
        .values()
        .filter(|row| matches!(row.state(), Stored::Waiting | Stored::Scheduled))
        .count();
    ensure(rows == open, NUMBER, || {
        format!("{rows} URL rows wait, {open} of them stand in a queue, lease or schedule")
    })
}
