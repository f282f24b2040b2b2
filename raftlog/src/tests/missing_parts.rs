//! Directories of which a part is gone: a disk that is not mounted, half a restore.

use std::path::Path;
use std::sync::Arc;

use rocksdb::Cache;

use super::support::{open, options, propose, sole_group};
use crate::log::open_log;
use crate::{Engine, NoTransport, OpenError};

async fn used(dir: &Path) {
    let engine = open(options(dir, 1));
    let group = sole_group(&engine, 3, &Arc::default()).await;
    propose(&group, "key").await;
    engine.close().await;
}

fn refusal(dir: &Path) -> OpenError {
    match Engine::open(options(dir, 1), Arc::new(NoTransport)) {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    }
}

/// case L17: a replica whose log is gone has forgotten its votes; it must not vote again under the same id.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_without_one_of_its_databases_is_refused_and_left_alone() {
    for part in ["log", "state"] {
        let dir = tempfile::tempdir().unwrap();
        used(dir.path()).await;
        let (here, away) = (dir.path().join(part), dir.path().join("away"));
        std::fs::rename(&here, &away).unwrap();
        // The mount point of a disk that is away is an empty folder.
        for is_folder in [false, true] {
            if is_folder {
                std::fs::create_dir_all(&here).unwrap();
            }
            let error = refusal(dir.path());
            assert!(
                matches!(&error, OpenError::Gone { database, .. } if *database == here),
                "{error}"
            );
            assert!(error.to_string().contains("new replica"), "{error}");
        }
        assert!(
            !here.join("CURRENT").exists(),
            "nothing was made in its place"
        );
        // It is mounted again.
        std::fs::remove_dir_all(&here).unwrap();
        std::fs::rename(&away, &here).unwrap();
        open(options(dir.path(), 1)).close().await;
    }
}

/// A crash between the making of the one and of the other leaves nothing that was promised.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_log_alone_is_a_start_that_was_cut_short() {
    let dir = tempfile::tempdir().unwrap();
    open(options(dir.path(), 1)).close().await;
    std::fs::remove_dir_all(dir.path().join("state")).unwrap();
    used(dir.path()).await;
}

/// After a failure of the disk the databases are opened again; a disk that went away must not come back empty.
#[test]
fn what_is_opened_again_is_not_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::new_lru_cache(1 << 20);
    let options = options(dir.path(), 1);
    assert!(open_log(&dir.path().join("log"), &options, &cache, false).is_err());
    assert!(!dir.path().join("log").join("CURRENT").exists());
}
