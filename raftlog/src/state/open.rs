//! Options of the state database: short keys with small or empty values by the hundred million, read by range.

use std::path::Path;

use rocksdb::{BlockBasedIndexType, BlockBasedOptions, Cache, DB, DBCompressionType, Options};

use crate::errors::OpenError;
use crate::open_db::open_db;
use crate::options::EngineOptions;

/// Opens the state database. A missing one is made if `may_make`.
pub(crate) fn open_state(
    dir: &Path,
    options: &EngineOptions,
    cache: &Cache,
    may_make: bool,
) -> Result<DB, OpenError> {
    let mut db = table_options(options, cache);
    db.create_if_missing(may_make);
    db.set_write_buffer_size(options.memtable_size_bytes);
    db.set_max_write_buffer_number(2);
    db.set_max_background_jobs(options.background_threads);
    db.set_max_open_files(options.max_open_files);
    db.set_level_compaction_dynamic_level_bytes(true);
    db.set_bytes_per_sync(1024 * 1024);
    db.set_keep_log_file_num(4);
    // A background thread's moment must not decide what a simulated crash finds.
    db.set_disable_auto_compactions(options.threads.is_inline());
    open_db(&db, dir)
}

/// How tables are laid out. Also used for staged snapshot files, so that they are as small as compacted ones.
pub(crate) fn table_options(options: &EngineOptions, cache: &Cache) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    // Index blocks count against the cache, so that memory stays bounded whatever the number of tables.
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    // Partitioned, for a lookup needs one small piece of a table's index and not hundreds of kilobytes of it.
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    table.set_pin_top_level_index_and_filter(true);
    // Larger blocks compress keys of 16 bytes better; a point read costs one block either way.
    table.set_block_size(8 * 1024);
    table.set_format_version(5);
    if let Some(bits) = options.bloom_bits_per_key {
        table.set_bloom_filter(bits, false);
    }
    let mut db = Options::default();
    db.set_block_based_table_factory(&table);
    db.set_compression_type(DBCompressionType::Zstd);
    db
}
