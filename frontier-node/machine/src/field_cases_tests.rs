//! Cases from the field that concern the machine, each named.
#![allow(clippy::unwrap_used)]

use crate::{
    command::report::{PageCode, ReportResult},
    testing::*,
    *,
};

// case B1
#[test]
fn leaving_the_queue_and_being_leased_is_one_step() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    let (lease, page) = shard.lease_page();
    assert_eq!(page.url, "http://a.example/1");
    // A machine rebuilt at this moment knows the lease, and its end requeues.
    shard.rebuild();
    assert_eq!(
        shard.url("http://a.example/1").unwrap().state,
        UrlState::Leased
    );
    shard.pass(60_000);
    shard.tick();
    assert_eq!(
        shard.url("http://a.example/1").unwrap().state,
        UrlState::Queued
    );
    assert_eq!(
        shard.close(&lease, answered(0), stored(1)),
        ReportResult::LeaseLost(command::report::LostReason::Expired)
    );
    shard.pass(1_000);
    let (lease, _) = shard.lease_page();
    assert_eq!(
        shard.close(&lease, answered(0), outcome(PageCode::HttpError)),
        ReportResult::Closed
    );
    assert_eq!(
        shard.url("http://a.example/1").unwrap().state,
        UrlState::Done
    );
}
