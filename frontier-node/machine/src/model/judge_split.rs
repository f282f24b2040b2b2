//! Splits: refused for the right reason, or what is known is shared out by partition hash and nothing else.

use super::state::{Beyond, Judged, Model, Where, must};
use crate::{
    ShardId,
    command::split::{Split, SplitDone, SplitRefusal, SplitReply},
    invariants::View,
};

impl Model {
    /// Takes the answer over. A split that was done now leaves the child's model in `children`.
    pub fn judge_split(&mut self, split: &Split, reply: &SplitReply) -> Judged {
        let expected = self.answer(split);
        must(*reply == expected, || {
            format!("{split:?} was answered {reply:?}, expected {expected:?}")
        })?;
        if let SplitReply::Done(done) = expected
            && !self.splits.iter().any(|(other, _)| *other == done)
        {
            self.splits.push((done, split.epoch));
            let child = self.split_at(done);
            self.children.push(child);
        }
        Ok(())
    }

    fn answer(&self, split: &Split) -> SplitReply {
        let same = |done: &SplitDone| done.child.0 == split.child && done.at == split.at;
        if let Some((done, _)) = self.splits.iter().find(|(done, _)| same(done)) {
            return SplitReply::Done(*done);
        }
        let spent = self.splits.iter().find(|(_, epoch)| *epoch == split.epoch);
        let used = self.splits.iter().map(|(done, _)| done.child.0).max();
        let (first, last) = self.range;
        let refusal = if let Some((done, _)) = spent {
            SplitRefusal::OtherSplit { done: *done }
        } else if split.epoch < self.epoch || split.epoch == u64::MAX {
            SplitRefusal::StaleEpoch { epoch: self.epoch }
        } else if split.child == 0 {
            SplitRefusal::UnknownChild
        } else if split.child <= self.shard.max(used.unwrap_or(0)) {
            SplitRefusal::UsedChild
        } else if !self.holds(split.at) {
            SplitRefusal::OutsideRange { first, last }
        } else if split.at == first {
            SplitRefusal::NothingLeft
        } else {
            return SplitReply::Done(SplitDone {
                child: ShardId(split.child),
                at: split.at,
                last,
                epoch: split.epoch + 1,
            });
        };
        SplitReply::Refused(refusal)
    }

    /// Everything from that hash on, as it is; calls of sessions are the parent's alone.
    fn split_at(&mut self, done: SplitDone) -> Self {
        let mut child = self.clone();
        let at = done.at;
        (self.range.1, child.range.0) = (at - 1, at);
        (self.epoch, child.epoch) = (done.epoch, done.epoch);
        (child.shard, child.splits, child.children) = (done.child.0, Vec::new(), Vec::new());
        child.sessions.clear();
        child.forgotten = 0;
        for (model, upper) in [(self, false), (&mut child, true)] {
            let stays = |partition: u64| (partition >= at) == upper;
            model.hosts.retain(|host| stays(host.partition));
            model.urls.retain(|url| stays(url.partition));
            model.leases.retain(|lease| stays(lease.key.partition));
            model.ended.retain(|(key, _), _| stays(key.partition));
            model
                .errands
                .retain(|waiting| stays(waiting.errand.partition));
            // The order among what is left may begin anew.
            (model.unfair_token, model.passed_over) = (0, 0);
        }
        child
    }

    /// Takes over how the books were shared out, which must add up to what they were.
    pub fn share_books(&mut self, child: &mut Self, after: &View, of_child: &View) -> Judged {
        let (before, accepted) = (self.beyond, self.accepted);
        self.beyond = self.beyond_in(after);
        child.beyond = child.beyond_in(of_child);
        let sum = Beyond {
            done: self.beyond.done + child.beyond.done,
            removed: self.beyond.removed + child.beyond.removed,
            refused: self.beyond.refused + child.beyond.refused,
        };
        must(sum == before, || {
            format!("books of ended URLs: {before:?} became {sum:?}")
        })?;
        let meta = &of_child.meta;
        (self.accepted, child.accepted) = (after.meta.accepted, meta.accepted);
        must(self.accepted + child.accepted == accepted, || {
            format!(
                "accepted {accepted} became {} and {}",
                self.accepted, child.accepted
            )
        })?;
        let done: u64 = of_child
            .hosts
            .values()
            .map(|host| u64::from(host.done))
            .sum();
        must(
            (meta.done, meta.removed, meta.refused) == (done, 0, 0),
            || format!("the child's hosts have {done} done, its books are {meta:?}"),
        )?;
        must(
            of_child.sessions.is_empty() && meta.token == self.token,
            || format!("a child with sessions or another token: {meta:?}"),
        )?;
        self.share_outbox(child, after, of_child)
    }

    fn share_outbox(&mut self, child: &mut Self, after: &View, of_child: &View) -> Judged {
        let mut all = std::mem::take(&mut self.outbox);
        self.outbox = after.outbox.values().cloned().collect();
        child.outbox = of_child.outbox.values().cloned().collect();
        must(self.outbox.len() + child.outbox.len() == all.len(), || {
            "outbox rows were lost or doubled".into()
        })?;
        for item in self.outbox.iter().chain(&child.outbox) {
            let place = all.iter().position(|other| other == item);
            all.swap_remove(place.ok_or("an outbox item nobody put there")?);
        }
        child.outbox_in = child.outbox.len() as u64;
        self.outbox_in -= child.outbox_in;
        child.delivered = 0;
        Ok(())
    }

    fn beyond_in(&self, view: &View) -> Beyond {
        let count = |place: Where| {
            let same = self.urls.iter().filter(|url| url.place == place);
            same.count() as i64
        };
        Beyond {
            done: view.meta.done as i64 - count(Where::Done),
            removed: view.meta.removed as i64 - count(Where::Removed) - self.forgotten as i64,
            refused: view.meta.refused as i64 - count(Where::Refused),
        }
    }
}
