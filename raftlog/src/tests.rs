//! Tests of whole engines: one replica, three replicas, crashes, faults.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cluster;
mod corrupt_log;
mod counter_machine;
mod disk_faults;
mod elections;
mod founding;
mod group_commit;
mod inline;
mod members;
mod missing_parts;
mod one_replica;
mod part_machine;
mod power_cut;
mod process_kill;
mod purge;
mod rejoin;
mod replaced_tail;
mod restart;
mod rows_on_disk;
mod slow_followers;
mod snapshot_install;
mod storage_suite;
mod support;
mod three_replicas;
mod transfers;
