//! Ends of leases, by what they concern.
#![allow(clippy::unwrap_used, clippy::panic)]

mod clock;
mod fencing;
mod outbox;
mod record;
mod revisit;
mod robots;

use super::{
    ReportResult::{Closed, Invalid, LeaseLost, Requeued},
    *,
};
use crate::{
    Counter, UrlState,
    command::{discover::Link, lease::Work, set_policy::CrawlPolicy},
    limits,
    testing::*,
};

const URL: &str = "http://a.example/1";

fn leased() -> (Shard, crate::command::lease::Lease) {
    let mut shard = Shard::new();
    shard.add_allowed(&[URL]);
    let (lease, _) = shard.lease_page();
    (shard, lease)
}
