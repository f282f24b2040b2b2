//! How far a job is.

/// A step that was reached. What is done next may be done any number of times, by whoever drives.
///
/// ```text
/// split:  Planned -> ParentTold -> ParentApplied -> ChildCreated -> MapChanged -> Done
///            +------------+--> Undone
/// move:   Planned -> LearnerAdded -> CaughtUp -> VotersChanged -> Done
///            +------------+-----------+--> Undoing -> Undone
/// drain, replace:  Emptying -> Done
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Step {
    /// Split: nobody was told. Move: the map names the learner, so its node makes the replica and the leader adds it.
    Planned = 0,
    /// Split: from now on the parent may have been told; nothing but the parent's refusal undoes it.
    ParentTold = 1,
    /// Split: the parent's range has shrunk. Its replicas make the child.
    ParentApplied = 2,
    /// Split: a majority of the child's replicas is there.
    ChildCreated = 3,
    /// Split: the map shows the child. Whoever drives waits until the child has a leader.
    MapChanged = 4,
    /// Move: the group feeds the learner.
    LearnerAdded = 11,
    /// Move: the learner has the log. From now on the voters may have been changed; nothing but the group's own refusal
    /// undoes it.
    CaughtUp = 12,
    /// Move: the old replica votes no more and is a tombstone; its node destroys it.
    VotersChanged = 13,
    /// Drain, replace: moves empty the node. Ends by itself.
    Emptying = 21,
    /// Move: the learner is a tombstone; the leader takes it out of the group.
    Undoing = 31,
    /// Ended: all of it was done.
    Done = 41,
    /// Ended: nothing of it remains.
    Undone = 42,
}

impl Step {
    /// Whether nothing follows.
    #[must_use]
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Done | Self::Undone)
    }

    /// For people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::ParentTold => "parent told",
            Self::ParentApplied => "parent applied",
            Self::ChildCreated => "child created",
            Self::MapChanged => "map changed",
            Self::LearnerAdded => "learner added",
            Self::CaughtUp => "caught up",
            Self::VotersChanged => "voters changed",
            Self::Emptying => "emptying",
            Self::Undoing => "undoing",
            Self::Done => "done",
            Self::Undone => "undone",
        }
    }
}
