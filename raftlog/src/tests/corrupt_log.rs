//! case L28: a torn tail of the log is cut off; damage in its middle stops the opening with the place named.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::power_cut::PowerCut;
use super::support::{PATIENCE, count, open, open_group, options, propose, sole_group};
use crate::{Engine, NoTransport, OpenError};

/// A directory as a power cut leaves it after some answered proposals, and the log's newest file.
async fn after_power_cut(proposals: u64) -> (tempfile::TempDir, PathBuf) {
    let (dir, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let engine = open(options(dir.path(), 1));
    let group = sole_group(&engine, 3, &Arc::default()).await;
    for _ in 0..proposals {
        propose(&group, "key").await;
    }
    PowerCut::default().cut(dir.path(), after.path());
    engine.close().await;
    let wal = newest_wal(&after.path().join("log"));
    (after, wal)
}

fn newest_wal(dir: &Path) -> PathBuf {
    let files = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|ext| ext == "log"))
        .max()
        .unwrap()
}

async fn counted(dir: &Path) -> u64 {
    let engine = open(options(dir, 1));
    let group = open_group(&engine, 3, &Arc::default()).await;
    group.wait_for_recovery(PATIENCE).await.unwrap();
    let counted = count(&engine, 3, "key");
    propose(&group, "key").await;
    assert_eq!(count(&engine, 3, "key"), counted + 1);
    engine.close().await;
    counted
}

#[tokio::test(flavor = "multi_thread")]
async fn a_torn_tail_is_cut() {
    for cut_bytes in [1, 5, 11, 30] {
        let (dir, wal) = after_power_cut(20).await;
        let size = wal.metadata().unwrap().len();
        std::fs::OpenOptions::new()
            .write(true)
            .open(&wal)
            .unwrap()
            .set_len(size - cut_bytes)
            .unwrap();
        let counted = counted(dir.path()).await;
        assert!(
            (19..=20).contains(&counted),
            "{counted} after a cut of {cut_bytes} bytes"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_zeros_behind_the_log_are_cut() {
    for tail in [vec![0u8; 5000], vec![0xa5; 700], b"\x01\x02\x03".to_vec()] {
        let (dir, wal) = after_power_cut(20).await;
        let mut bytes = std::fs::read(&wal).unwrap();
        bytes.extend_from_slice(&tail);
        std::fs::write(&wal, &bytes).unwrap();
        assert_eq!(counted(dir.path()).await, 20);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_in_the_middle_is_refused() {
    let (dir, wal) = after_power_cut(20).await;
    let whole = std::fs::read(&wal).unwrap();
    // The header of the first record (its checksum, length and type), and places up to the middle.
    for place in [0, 4, 5, 6, 9, whole.len() / 4, whole.len() / 2] {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        std::fs::write(&wal, &bytes).unwrap();
        let error = Engine::open(options(dir.path(), 1), Arc::new(NoTransport)).err();
        let Some(OpenError::Corrupt { reason, .. }) = error else {
            panic!("byte {place}: {error:?}")
        };
        assert!(reason.contains("damaged at byte"), "{reason}");
        assert_eq!(
            std::fs::read(&wal).unwrap(),
            bytes,
            "a refused log is left as it is"
        );
    }
    std::fs::write(&wal, &whole).unwrap();
    assert_eq!(counted(dir.path()).await, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_table_is_refused_or_read_as_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let group = sole_group(&engine, 3, &Arc::default()).await;
    propose(&group, "key").await;
    engine.close().await;
    let tables = std::fs::read_dir(dir.path().join("state"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let table = tables
        .filter(|path| path.extension().is_some_and(|ext| ext == "sst"))
        .max()
        .unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[3] ^= 0xff;
    std::fs::write(&table, bytes).unwrap();
    match Engine::open(options(dir.path(), 1), Arc::new(NoTransport)) {
        Err(error) => assert!(matches!(error, OpenError::Corrupt { .. }), "{error}"),
        Ok(engine) => {
            let factory = super::counter_machine::factory(engine.state(), 3, Arc::default());
            let opened = engine.open_group(3, factory).await;
            let rows = engine.state().scan(&crate::KeyRange::all(), 10);
            assert!(opened.is_err() || rows.is_err());
            engine.close().await;
        }
    }
}
