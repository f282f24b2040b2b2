//! Between the wire and the machine: checks what arrives, gives the machine keys instead of names, and back.
//!
//! Everything that a client may have wrong is found here, once: canonical form, site, digests, sizes. The machine sees
//! only what passed. A refusal names its rule in snake_case.

mod discover;
mod lease;
mod policy;
mod record;
mod remove;
mod report;
mod robots;
mod status;
#[cfg(test)]
mod tests;
mod verifier;

pub(crate) use discover::{discover_result, item_from_wire, item_to_wire};
pub(crate) use lease::{lease_call, lease_response, ready_summary, within};
pub(crate) use policy::{policy_from_wire, shard_settings};
pub(crate) use record::{host_record, listed_url, url_record};
pub(crate) use remove::remove_from_wire;
pub(crate) use report::{invalid_result, release_from_wire, report_from_wire, report_result};
pub(crate) use status::shard_status;
pub(crate) use verifier::{Rejected, Verifier};
