//! Numbered invariants of a shard, one a file, checked by the model tests and public for drills and a simulator.
//!
//! Three kinds. [`STATES`] hold of the rows after every entry. [`STEPS`] hold between the rows before and after one
//! entry. [`rebuild`](i18_rebuild) holds of a running machine and its rows. All read the whole shard: they are for tests,
//! drills and offline checks, never for the path of an entry.
//!
//! The same list with the schedule each closes is `docs/INVARIANTS.md`; a test keeps the two in step.

mod i01_conservation;
mod i02_one_place;
mod i03_one_in_flight;
mod i04_clock;
mod i05_tokens;
mod i06_queue;
mod i07_schedule;
mod i08_seen;
mod i09_host_rows;
mod i10_robots_bodies;
mod i11_errands;
mod i12_outbox;
mod i13_sessions;
mod i14_budget;
mod i15_lease_rows;
mod i16_range;
mod i17_url_rows;
mod i18_rebuild;
mod i19_forward;
mod i20_last_contact;
mod i21_lease_ends;
mod i22_due_work;
mod i23_recovery;
mod view;
mod violation;

pub use i18_rebuild::check as rebuild;
pub use view::View;
pub use violation::Violation;

/// An invariant of one state.
pub struct StateInvariant {
    /// "I1" and so on, as in the document.
    pub number: &'static str,
    /// The promise in a few words.
    pub name: &'static str,
    /// Judges the rows of one shard.
    pub check: fn(&View) -> Result<(), Violation>,
}

/// An invariant of one step: the rows before and after one entry.
pub struct StepInvariant {
    /// "I1" and so on, as in the document.
    pub number: &'static str,
    /// The promise in a few words.
    pub name: &'static str,
    /// Judges the rows before and after. Of an entry that splits the shard, also the parent's before and the child's after.
    pub check: fn(&View, &View) -> Result<(), Violation>,
}

/// What holds after every entry.
pub const STATES: [StateInvariant; 18] = [
    StateInvariant {
        number: "I1",
        name: "conservation",
        check: i01_conservation::check,
    },
    StateInvariant {
        number: "I2",
        name: "one place for each URL",
        check: i02_one_place::check,
    },
    StateInvariant {
        number: "I3",
        name: "one lease in flight a host",
        check: i03_one_in_flight::check,
    },
    StateInvariant {
        number: "I4",
        name: "no lease before the clock",
        check: i04_clock::check,
    },
    StateInvariant {
        number: "I5",
        name: "tokens unique and counted",
        check: i05_tokens::check,
    },
    StateInvariant {
        number: "I6",
        name: "lanes agree with queue rows",
        check: i06_queue::check,
    },
    StateInvariant {
        number: "I7",
        name: "due visits agree with schedule rows",
        check: i07_schedule::check,
    },
    StateInvariant {
        number: "I8",
        name: "seen covers everything",
        check: i08_seen::check,
    },
    StateInvariant {
        number: "I9",
        name: "host rows outlive what refers to them",
        check: i09_host_rows::check,
    },
    StateInvariant {
        number: "I10",
        name: "robots bodies and their references",
        check: i10_robots_bodies::check,
    },
    StateInvariant {
        number: "I11",
        name: "errands counted and bounded",
        check: i11_errands::check,
    },
    StateInvariant {
        number: "I12",
        name: "outbox equation",
        check: i12_outbox::check,
    },
    StateInvariant {
        number: "I13",
        name: "sessions bounded",
        check: i13_sessions::check,
    },
    StateInvariant {
        number: "I14",
        name: "budgets not overspent",
        check: i14_budget::check,
    },
    StateInvariant {
        number: "I15",
        name: "lease rows well formed",
        check: i15_lease_rows::check,
    },
    StateInvariant {
        number: "I16",
        name: "rows inside the range",
        check: i16_range::check,
    },
    StateInvariant {
        number: "I17",
        name: "URL rows say where the URL is",
        check: i17_url_rows::check,
    },
    StateInvariant {
        number: "I23",
        name: "after a recovery hosts wait",
        check: i23_recovery::check,
    },
];

/// What holds between the rows before and after an entry.
pub const STEPS: [StepInvariant; 4] = [
    StepInvariant {
        number: "I19",
        name: "time, tokens and totals only go forward",
        check: i19_forward::check,
    },
    StepInvariant {
        number: "I20",
        name: "last contact never goes back",
        check: i20_last_contact::check,
    },
    StepInvariant {
        number: "I21",
        name: "a lease ends by report, release or expiry",
        check: i21_lease_ends::check,
    },
    StepInvariant {
        number: "I22",
        name: "due leases end",
        check: i22_due_work::check,
    },
];

/// Checks every state invariant; the first that is broken.
pub fn check_state(view: &View) -> Result<(), Violation> {
    STATES
        .iter()
        .try_for_each(|invariant| (invariant.check)(view))
}

/// Checks every step invariant; the first that is broken.
pub fn check_step(before: &View, after: &View) -> Result<(), Violation> {
    STEPS
        .iter()
        .try_for_each(|invariant| (invariant.check)(before, after))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
