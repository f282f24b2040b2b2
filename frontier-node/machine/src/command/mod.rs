//! The commands, one a file: its messages, its apply, its tests.

pub mod alias;
pub mod deliver;
pub mod discover;
pub mod lease;
pub mod lost_store;
pub mod recover;
pub mod release;
pub mod remove;
pub mod report;
pub mod restore;
pub mod set_policy;
pub mod split;
