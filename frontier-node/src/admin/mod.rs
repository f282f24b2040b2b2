//! `admin.v1`: what operators ask. Reads come from this node's copy of the map, changes go to the leader of group 0.
//!
//! | file | concept |
//! |---|---|
//! | `service` | the calls, bounded in number |
//! | `reading` | one read: a copy, with proof where it can be had, and who leads what |
//! | `answers` | the map as `admin.v1` shows it |
//! | `backups` | exports, steps of a restore, recoveries |
//! | `changes` | requests as commands, checked |

mod answers;
mod backups;
mod changes;
mod reading;
mod service;

pub(crate) use service::admin_service;
