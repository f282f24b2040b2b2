//! The state database: one RocksDB without WAL and with one column family, for the rows of all groups.
//!
//! | key | what |
//! |---|---|
//! | `01`, group (8, big-endian), `01` | the group's applied log id |
//! | `01`, group (8, big-endian), `02` | the group's membership at that entry |
//! | `01`, group (8, big-endian), `03` | ranges that hold all of the group's rows, as they were when it was opened |
//! | `10`, user key | a user's row |
//!
//! Without WAL the disk holds a prefix of the batches: what was not flushed is applied again from the log.

mod db;
mod keys;
mod open;
mod view;

pub use db::StateDb;
pub use view::{Row, StateView};

pub(crate) use db::write_rows;
pub(crate) use keys::{MetaField, meta_bounds, meta_key, user_bounds, user_key};
pub(crate) use open::{open_state, table_options};
pub(crate) use view::groups_with_rows;
