//! The record format, WARC 1.1 (ISO 28500:2017): building, parsing, and the gzip member each record is.

mod build;
pub(crate) mod date;
mod fields;
mod http;
mod member;
mod record;
mod record_id;

pub(crate) use build::{EncodeError, RefersTo, Response, Revisit, WarcInfo};
pub(crate) use http::ORIGINAL_PREFIX;
pub(crate) use member::{
    GROUP_START_OFFSET, MEMBER_PREFIX_SIZE_BYTES, Member, MemberPrefix, find_prefix,
};
pub(crate) use record::{Record, RecordType};
pub(crate) use record_id::{RecordId, RecordIds, once_seed};

#[cfg(test)]
mod tests;
