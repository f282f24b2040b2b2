//! The end of one lease on its way, and how many of them fit into a call.

use prost::Message;
use proto::frontier_v1 as pb;
use tokio::sync::oneshot;

use crate::contact::Contact;
use crate::deadline::BootInstant;
use crate::held::Held;
use crate::limits::MAX_REPORT_CALL_BYTES;
use crate::outcome::End;
use crate::report::Pending;

/// The end of one lease, on its way.
pub(crate) struct Item {
    pub(crate) held: Held,
    pub(crate) contact: Contact,
    pub(crate) end: End,
    /// Dropped when the item is: whoever waits hears that it is over.
    pub(crate) _done: oneshot::Sender<()>,
    pub(crate) _pending: Pending,
}

impl Item {
    /// As it goes into a report sent at `now`; none if it is a release.
    pub(crate) fn report(&self, now: BootInstant) -> Option<pb::Report> {
        let End::Report {
            outcome,
            undelivered,
        } = &self.end
        else {
            return None;
        };
        Some(pb::Report {
            key: Some(self.held.key),
            token: self.held.token,
            contact: Some(self.contact.to_wire(now)),
            outcome: Some(outcome.clone()),
            undelivered: undelivered.clone(),
        })
    }
}

/// Splits by the bytes of a call: robots bodies and undelivered links can be large.
pub(crate) fn batches(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut batches: Vec<Vec<Item>> = Vec::new();
    let mut size = 0;
    for item in items {
        let item_size = size_of_end(&item.end);
        match batches.last_mut() {
            Some(batch) if size + item_size <= MAX_REPORT_CALL_BYTES => batch.push(item),
            _ => {
                batches.push(vec![item]);
                size = 0;
            }
        }
        size += item_size;
    }
    batches
}

fn size_of_end(end: &End) -> usize {
    match end {
        End::Release => 64,
        End::Report {
            outcome,
            undelivered,
        } => {
            let outcome_size = match outcome {
                pb::report::Outcome::Page(page) => page.encoded_len(),
                pb::report::Outcome::Robots(robots) => robots.encoded_len(),
                pb::report::Outcome::Errand(errand) => errand.encoded_len(),
            };
            outcome_size + undelivered.iter().map(Message::encoded_len).sum::<usize>() + 128
        }
    }
}
