//! Segment files: their names, how one is created, how one is read.

mod create;
mod name;
mod reader;

pub(crate) use create::create;
pub(crate) use name::{file_name, list, path, remove_unfinished};
pub(crate) use reader::{FoundMember, ReadError, SegmentReader};
