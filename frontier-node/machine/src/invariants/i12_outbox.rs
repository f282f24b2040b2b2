//! I12: outbox in = waiting + delivered, waiting is the number of rows, within the limit.
//!
//! Closes: links of a page whose owner was away vanish between the report that closed the page and their delivery. The
//! equation stands apart from I1: an outbox row is nobody's accepted URL yet.

use super::{View, Violation, violation::ensure};
use crate::limits::OUTBOX_ROWS;

const NUMBER: &str = "I12";

pub(super) fn check(view: &View) -> Result<(), Violation> {
    let meta = &view.meta;
    let rows = view.outbox.len() as u64;
    ensure(
        meta.outbox_in == meta.outbox_waiting + meta.outbox_delivered,
        NUMBER,
        || {
            format!(
                "in {} is not waiting {} + delivered {}",
                meta.outbox_in, meta.outbox_waiting, meta.outbox_delivered
            )
        },
    )?;
    ensure(meta.outbox_waiting == rows, NUMBER, || {
        format!("waiting counts {} and has {rows} rows", meta.outbox_waiting)
    })?;
    ensure(rows <= OUTBOX_ROWS, NUMBER, || format!("{rows} rows wait"))?;
    let sequences: std::collections::BTreeSet<_> =
        view.outbox.keys().map(|(_, sequence)| *sequence).collect();
    ensure(sequences.len() == view.outbox.len(), NUMBER, || {
        "two rows share a sequence".into()
    })?;
    ensure(
        sequences
            .last()
            .is_none_or(|last| *last <= meta.outbox_sequence),
        NUMBER,
        || "a sequence was never given out".into(),
    )?;
    ensure(
        view.outbox.values().all(|item| item.kind.is_some()),
        NUMBER,
        || "an empty item waits".into(),
    )
}
