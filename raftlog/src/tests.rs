//! Tests of whole engines: one replica, three replicas, crashes, faults.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod counter_machine;
mod one_replica;
mod storage_suite;
mod support;
