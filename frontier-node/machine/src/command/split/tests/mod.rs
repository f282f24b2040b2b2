//! What a split gives the child, what it leaves, what it refuses, and how both go on.

mod books;
mod inherited;
mod refusals;

use super::{SplitDone, SplitReply};
use crate::{ShardId, command::report::RobotsCode, testing::*};

/// A URL of a site below and of one above [`AT`].
pub(in crate::command::split) fn sides() -> (String, String) {
    let mut urls = (0..99).map(|n| format!("http://w.s{n}.example/"));
    let low = urls.find(|url| partition(url) < AT).unwrap();
    (low, urls.find(|url| partition(url) >= AT).unwrap())
}

pub(in crate::command::split) const AT: u64 = 1 << 63;
pub(in crate::command::split) const CHILD: u64 = 2;

pub(in crate::command::split) fn done(child: u64, at: u64, last: u64, epoch: u64) -> SplitReply {
    SplitReply::Done(SplitDone {
        child: ShardId(child),
        at,
        last,
        epoch,
    })
}

/// Parent and child after a split at [`AT`], both as their rows say.
pub(in crate::command::split) fn split(parent: &mut Shard) -> Shard {
    assert_eq!(
        parent.split(CHILD, AT, parent.m.epoch()),
        done(CHILD, AT, u64::MAX, parent.m.epoch())
    );
    let mut child = parent.child();
    parent.rebuild();
    child.rebuild();
    child
}

/// The URL's host answered for its robots.txt and its delay is past.
pub(in crate::command::split) fn allowed(shard: &mut Shard, urls: &[&str]) {
    shard.add(urls);
    for lease in shard.lease(9) {
        shard.close_robots(&lease, answered(0), found(RobotsCode::AllowAll));
    }
    shard.pass(1_000);
}
