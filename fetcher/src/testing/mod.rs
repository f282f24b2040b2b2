//! What the tests are made of: raw servers on loopback, a scripted frontier, a store in memory, and a rig that runs one cycle.

mod dns_server;
mod frontier;
mod pages;
mod rig;
mod server;
mod shards;
mod tls_server;

pub(crate) use dns_server::{DnsServer, Zone};
pub(crate) use frontier::{FakeFrontier, page_lease, page_work};
pub(crate) use pages::MemoryPages;
pub(crate) use rig::{Ran, Rig, ScriptedNames};
pub(crate) use server::{Reply, Server, html, response};
pub(crate) use shards::{Mood, Shards};
pub(crate) use tls_server::{Alpn, TlsServer};
