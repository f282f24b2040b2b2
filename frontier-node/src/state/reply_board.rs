//! Replies on their way from the applying thread to the proposers of this process.
//!
//! A reply is a value in memory and is never serialised: the log hands back only the index of an entry, under which the
//! proposer picks its reply up here. Replicas without proposers keep nothing.

use std::collections::BTreeMap;

use machine::Reply;
use parking_lot::Mutex;

/// The replies of one shard, by log index.
#[derive(Debug, Default)]
pub(crate) struct ReplyBoard {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Entries submitted by this process whose end is not known yet.
    waiting: usize,
    replies: BTreeMap<u64, Reply>,
}

impl ReplyBoard {
    /// A proposer is about to submit.
    pub(crate) fn expect(&self) {
        self.inner.lock().waiting += 1;
    }

    /// An entry was applied. Kept only while somebody waits.
    pub(crate) fn put(&self, index: u64, reply: Reply) {
        let mut inner = self.inner.lock();
        if inner.waiting > 0 {
            inner.replies.insert(index, reply);
        }
    }

    /// The oldest proposal ended: with its reply if it was applied at `index`. Proposals end in log order, so nobody waits
    /// for an older reply any more.
    pub(crate) fn end(&self, index: Option<u64>) -> Option<Reply> {
        let mut inner = self.inner.lock();
        inner.waiting = inner.waiting.saturating_sub(1);
        let mut reply = None;
        if let Some(index) = index {
            let newer = inner.replies.split_off(&index.saturating_add(1));
            reply = std::mem::replace(&mut inner.replies, newer).remove(&index);
        }
        if inner.waiting == 0 {
            inner.replies.clear();
        }
        reply
    }

    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.inner.lock().replies.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(now_ms: u64) -> Reply {
        Reply {
            now_ms,
            replies: Vec::new(),
        }
    }

    #[test]
    fn replies_without_a_proposer_are_dropped() {
        let board = ReplyBoard::default();
        board.put(1, reply(1));
        assert_eq!(board.kept(), 0);
    }

    #[test]
    fn each_proposer_gets_its_own() {
        let board = ReplyBoard::default();
        board.expect();
        board.expect();
        board.expect();
        // 6 is another leader's entry, applied between ours.
        for index in [5, 6, 7, 9] {
            board.put(index, reply(index));
        }
        assert_eq!(board.end(Some(5)), Some(reply(5)));
        // One whose outcome is unknown, then the last.
        assert_eq!(board.end(None), None);
        assert_eq!(board.end(Some(9)), Some(reply(9)));
        assert_eq!(board.kept(), 0);
    }
}
