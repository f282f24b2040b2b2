//! Opening the log database.

use std::path::Path;

use rocksdb::{BlockBasedOptions, Cache, DB, DBCompressionType, DBRecoveryMode, Options};

use super::wal_check::{WalError, repair};
use crate::errors::OpenError;
use crate::open_db::open_db;
use crate::options::EngineOptions;

/// Memtable of the log: entries are purged soon, so most never need to be compacted.
const MEMTABLE_BYTES: usize = 32 * 1024 * 1024;

/// Opens the log database: cuts a torn tail, refuses damage. A missing one is made if `may_make`.
pub(crate) fn open_log(
    dir: &Path,
    options: &EngineOptions,
    cache: &Cache,
    may_make: bool,
) -> Result<DB, OpenError> {
    let cut_bytes = repair(dir).map_err(|error| match error {
        WalError::Damaged { file, offset } => OpenError::Corrupt {
            dir: dir.to_owned(),
            reason: format!(
                "{} is damaged at byte {offset}, with whole records behind it; seed this replica again",
                file.display()
            ),
        },
        WalError::Io { file, error } => OpenError::Io { dir: file, reason: error.to_string() },
    })?;
    if cut_bytes > 0 {
        tracing::warn!(
            cut_bytes,
            "the log ended in a batch that was never acknowledged; cut off"
        );
    }
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_cache_index_and_filter_blocks(true);
    table.set_block_size(32 * 1024);
    let mut db = Options::default();
    db.create_if_missing(may_make);
    db.set_block_based_table_factory(&table);
    db.set_compression_type(DBCompressionType::None);
    db.set_write_buffer_size(MEMTABLE_BYTES);
    db.set_max_write_buffer_number(3);
    db.set_max_background_jobs(options.background_threads);
    db.set_max_open_files(256);
    db.set_keep_log_file_num(4);
    // A background thread's moment must not decide what a simulated crash finds.
    db.set_disable_auto_compactions(options.threads.is_inline());
    // The check above is the judge of torn tails; whatever it left must be whole.
    db.set_wal_recovery_mode(DBRecoveryMode::AbsoluteConsistency);
    open_db(&db, dir)
}
