//! What is in memory: a function of rows, so that a rebuilt machine goes on as the old one would have.

pub(crate) mod delay;
pub(crate) mod host;
mod host_row;
pub(crate) mod hosts;
pub(crate) mod index;
pub(crate) mod leases;
pub(crate) mod outbox;
pub(crate) mod policy;
pub(crate) mod robots;
pub(crate) mod sessions;
pub(crate) mod wall;

pub(crate) use host::{Host, Lane, Other};
pub(crate) use hosts::Hosts;
pub(crate) use index::Index;
pub(crate) use leases::{LeaseEntry, Leases};
pub(crate) use outbox::OutboxSites;
pub(crate) use policy::{Crawl, Policy};
pub(crate) use robots::{Good, HostAuthority, Phase, Robots};
pub(crate) use sessions::Sessions;
pub(crate) use wall::LongestWaits;
