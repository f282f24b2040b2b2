//! `backup` and `restore`: a cluster as a directory of files, and a new cluster out of it.
//!
//! | file | what |
//! |---|---|
//! | `args` | their command lines |
//! | `taking` | `backup`: begin of all shards, then their cuts, then the manifest |
//! | `restoring` | `restore`: what is there and what it may become, before anything changes |
//! | `filling` | one shard of the new cluster, out of the files of those it takes the place of |
//! | `manifest`, `row_file` | the directory's files |
//! | `step` | one call that is tried again while its shard has no leader |

mod args;
mod filling;
mod manifest;
mod restoring;
mod row_file;
mod step;
mod taking;

pub(super) use args::{BackupArgs, RestoreArgs};
pub(super) use restoring::run as restore;
pub(super) use taking::run as backup;
