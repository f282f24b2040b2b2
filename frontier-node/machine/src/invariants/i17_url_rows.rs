//! I17: a URL's row says where the URL is: waiting ones are queued or leased as tried, scheduled ones have their visit.
//!
//! Closes: a tried URL whose fields (they live in its row alone) are gone when it is leased again; a record that answers
//! "scheduled for Friday" while nothing is scheduled.

use super::{View, Violation, violation::ensure};
use crate::{command::lease::LeaseKind, keys::url::Stored};

const NUMBER: &str = "I17";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let mut waiting = 0;
    for queued in &view.queue {
        let key = (queued.host.0, queued.place.fingerprint);
        let state = view.urls.get(&key).map(|row| row.state());
        let expected = queued.row.tried.then_some(Stored::Waiting);
        ensure(state == expected, NUMBER, || format!("URL {key:x?} is queued, tried {}, its row says {state:?}", queued.row.tried))?;
        waiting += usize::from(queued.row.tried);
    }
    for (key, lease) in view.leases.iter().filter(|(key, _)| key.1 == LeaseKind::Page as i32) {
        let state = view.urls.get(&(key.0, key.2)).map(|row| row.state());
        let expected = lease.tried.then_some(Stored::Waiting);
        ensure(state == expected, NUMBER, || format!("URL {key:x?} is leased, tried {}, its row says {state:?}", lease.tried))?;
        waiting += usize::from(lease.tried);
    }
    for visit in &view.schedule {
        let key = (visit.host.0, visit.fingerprint);
        let date = view.urls.get(&key).filter(|row| row.state() == Stored::Scheduled).map(|row| row.next_visit_unix_ms);
        ensure(date == Some(visit.due_unix_ms), NUMBER, || format!("visit of {key:x?} at {}, its row says {date:?}", visit.due_unix_ms))?;
    }
    let rows = view.urls.values().filter(|row| row.state() == Stored::Waiting).count();
    ensure(rows == waiting, NUMBER, || format!("{rows} URL rows wait, {waiting} of them stand in a queue or lease"))?;
    let rows = view.urls.values().filter(|row| row.state() == Stored::Scheduled).count();
    ensure(rows == view.schedule.len(), NUMBER, || format!("{rows} URL rows are scheduled, {} visits", view.schedule.len()))
}
