//! `release`: leases whose fetch was not started go back as they were. Results are those of `report`.

mod apply;
#[cfg(test)]
mod tests;

use crate::command::lease::LeaseKey;

/// A batch, at most [`crate::limits::REPORT_ITEMS`].
#[derive(Clone, PartialEq, prost::Message)]
pub struct ReleaseBatch {
    /// In the sender's order.
    #[prost(message, repeated, tag = "1")]
    pub items: Vec<Release>,
}

/// One lease to give back.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Release {
    /// Identity.
    #[prost(message, optional, tag = "1")]
    pub key: Option<LeaseKey>,
    /// The lease's token.
    #[prost(uint64, tag = "2")]
    pub token: u64,
}
