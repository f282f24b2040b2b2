//! Shards out of this node and into it: exports for a backup, steps of a restore, recoveries. All on the shard's leader.
//!
//! | file | concept |
//! |---|---|
//! | `export` | the rows of a shard in one view, sent in parts |
//! | `filling` | one step of a restore, or a recovery |

mod export;
mod filling;

pub(crate) use export::{Export, ExportPart};
pub(crate) use filling::Restored;
