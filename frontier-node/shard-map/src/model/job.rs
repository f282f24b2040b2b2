//! A job: a change of shape that takes several steps outside group 0.
//!
//! The map holds all that a driver needs, so that any node can go on where another one died.

use super::step::Step;

/// One job.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Job {
    /// From 1; never reused.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Drawn by whoever asked, so that asking again finds this job; 0: none.
    #[prost(fixed64, tag = "2")]
    pub request: u64,
    /// A [`Step`].
    #[prost(enumeration = "Step", tag = "3")]
    pub step: i32,
    /// The map's version that began it.
    #[prost(uint64, tag = "4")]
    pub started_version: u64,
    /// The map's version that ended it; 0: it runs.
    #[prost(uint64, tag = "5")]
    pub ended_version: u64,
    /// Why it was undone.
    #[prost(string, tag = "6")]
    pub reason: String,
    /// What is done.
    #[prost(oneof = "Plan", tags = "10, 11, 12, 13")]
    pub plan: Option<Plan>,
}

/// What a job does.
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum Plan {
    /// A shard in two.
    #[prost(message, tag = "10")]
    Split(SplitPlan),
    /// A replica to another node.
    #[prost(message, tag = "11")]
    Move(MovePlan),
    /// All replicas away from a node that lives.
    #[prost(message, tag = "12")]
    Drain(Evacuation),
    /// All replicas away from a node that is dead; it is gone at the end.
    #[prost(message, tag = "13")]
    Replace(Evacuation),
}

/// A shard in two: the parent keeps what is below `at`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SplitPlan {
    /// The parent.
    #[prost(uint64, tag = "1")]
    pub shard: u64,
    /// The child's number.
    #[prost(uint64, tag = "2")]
    pub child: u64,
    /// The child's first hash.
    #[prost(fixed64, tag = "3")]
    pub at: u64,
    /// The child's voters: the parent's ids, for each of the parent's replicas makes one on its own node.
    #[prost(uint64, repeated, tag = "4")]
    pub voters: Vec<u64>,
    /// Where the child is split next, when one site is to stand alone.
    #[prost(fixed64, optional, tag = "5")]
    pub then_at: Option<u64>,
    /// The job of that next split, once it began; 0: none.
    #[prost(uint64, tag = "6")]
    pub next_job: u64,
}

/// A replica to another node, or to the new disk of its own.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct MovePlan {
    /// The group; 0: the cluster's own.
    #[prost(uint64, tag = "1")]
    pub shard: u64,
    /// The replica that goes; 0: none, the group grows.
    #[prost(uint64, tag = "2")]
    pub old: u64,
    /// The replica that comes.
    #[prost(uint64, tag = "3")]
    pub new: u64,
    /// Placement keeps the result.
    #[prost(bool, tag = "4")]
    pub pin: bool,
}

/// All replicas away from a node.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Evacuation {
    /// The node.
    #[prost(uint32, tag = "1")]
    pub node: u32,
}

impl Job {
    /// Whether it has not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.step().is_end()
    }

    /// Whether it changes this group: the parent, the child, or the one whose replica moves.
    #[must_use]
    pub fn concerns(&self, shard: u64) -> bool {
        match &self.plan {
            Some(Plan::Split(split)) => split.shard == shard || split.child == shard,
            Some(Plan::Move(moved)) => moved.shard == shard,
            _ => false,
        }
    }

    /// The node that it empties.
    #[must_use]
    pub const fn evacuates(&self) -> Option<u32> {
        match &self.plan {
            Some(Plan::Drain(e) | Plan::Replace(e)) => Some(e.node),
            _ => None,
        }
    }

    /// The steps of its way, the end included; the way back is not among them.
    #[must_use]
    pub const fn path(&self) -> &'static [Step] {
        use Step::*;
        match &self.plan {
            Some(Plan::Split(_)) => &[
                Planned,
                ParentTold,
                ParentApplied,
                ChildCreated,
                MapChanged,
                Done,
            ],
            Some(Plan::Move(_)) => &[Planned, LearnerAdded, CaughtUp, VotersChanged, Done],
            Some(Plan::Drain(_) | Plan::Replace(_)) => &[Emptying, Done],
            None => &[],
        }
    }

    /// Whether a step lies behind it, on its way or on its way back.
    #[must_use]
    pub fn is_past(&self, step: Step) -> bool {
        let is_before = |path: &[Step]| {
            let place = |wanted| path.iter().position(|s| *s == wanted);
            matches!((place(step), place(self.step())), (Some(then), Some(now)) if then < now)
        };
        is_before(self.path()) || is_before(&[Step::Undoing, Step::Undone])
    }

    /// Whether cancelling it now leaves nothing behind.
    #[must_use]
    pub fn can_be_cancelled(&self) -> bool {
        match (&self.plan, self.step()) {
            (Some(Plan::Move(_)), Step::Planned | Step::LearnerAdded)
            | (Some(Plan::Split(_)), Step::Planned) => true,
            (Some(Plan::Drain(_) | Plan::Replace(_)), step) => !step.is_end(),
            _ => false,
        }
    }
}

impl Job {
    pub(crate) fn end(&mut self, step: Step, version: u64) {
        self.set_step(step);
        self.ended_version = version;
    }
}
