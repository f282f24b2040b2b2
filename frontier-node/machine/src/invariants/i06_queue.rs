//! I6: every lane of a host counts its queue rows and names the first of them; every queue row has a lane.
//!
//! Closes: a head left behind by a removal, so that a lease is asked for a row that is gone; a count that fell to zero while
//! rows remain, so that they never come out (case B10).

use super::{View, Violation, view::HostKey, violation::ensure};
use crate::{authority::Authority, keys::queue::Place};
use std::collections::BTreeMap;

const NUMBER: &str = "I6";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    // Rows come in key order, so the first of a lane is its head.
    let mut found: BTreeMap<(&HostKey, u32, Authority), (u32, &Place)> = BTreeMap::new();
    for queued in &view.queue {
        found
            .entry((&queued.host, queued.place.crawl, queued.place.authority))
            .or_insert((0, &queued.place))
            .0 += 1;
    }
    let mut lanes = 0;
    for (key, host) in &view.hosts {
        for lane in &host.lanes {
            let of = host.authorities.get(lane.authority as usize);
            let Some(authority) = of.map(|row| Authority {
                https: row.https,
                port: row.port as u16,
            }) else {
                return Err(Violation {
                    number: NUMBER,
                    what: format!("host {key:x?}: a lane of authority {}", lane.authority),
                });
            };
            let rows = found.get(&(key, lane.crawl, authority));
            let agrees = rows.is_some_and(|(count, head)| {
                *count == lane.count
                    && (u32::from(head.priority), head.due_ms, head.fingerprint)
                        == (lane.priority, lane.due_ms, lane.fingerprint)
            });
            ensure(agrees, NUMBER, || {
                format!("host {key:x?}: {lane:x?} but the rows are {rows:x?}")
            })?;
            lanes += 1;
        }
    }
    ensure(lanes == found.len(), NUMBER, || {
        format!("{lanes} lanes in host rows, {} in the queue", found.len())
    })
}
