//! `deliver`: outbox rows that got a final answer from their owner leave the outbox.

mod apply;

/// A batch of outbox row keys, as [`crate::Machine::outbox_due`] gave them.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Deliver {
    /// Row keys.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub keys: Vec<Vec<u8>>,
}
