//! Rows on disk: what they cost, and what a reader sees.

use rocksdb::{WriteBatch, WriteOptions};

use super::support::{open, options};
use crate::state::write_rows;
use crate::{Engine, KeyRange, RowBatch};

fn write(engine: &Engine, rows: &RowBatch) {
    let mut batch = WriteBatch::default();
    write_rows(&mut batch, rows);
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    engine
        .state()
        .cell
        .get()
        .unwrap()
        .write_opt(batch, &options)
        .unwrap();
}

/// A generator of even 64-bit numbers (SplitMix64).
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Keys of a seen set: 8 bytes of the site's hash, 8 of the URL's, no value. At most 12 bytes each on disk.
#[tokio::test(flavor = "multi_thread")]
async fn sixteen_byte_keys_cost_at_most_twelve_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let (sites, each) = (200u64, 2_000u64);
    for site in 0..sites {
        let mut rows = RowBatch::new();
        for url in 0..each {
            let key = [
                mix(site + 1).to_be_bytes(),
                mix((site << 32) + url + 7).to_be_bytes(),
            ]
            .concat();
            rows.put(key, []);
        }
        write(&engine, &rows);
    }
    let db = engine.state().cell.get().unwrap();
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    drop(db);
    let size_bytes = engine.state().disk_size_bytes(&KeyRange::all()).unwrap();
    let per_key = size_bytes as f64 / (sites * each) as f64;
    println!("{per_key:.2} bytes a key on disk");
    assert!(per_key <= 12.0, "{per_key} bytes a key");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_see_one_moment_and_only_users_rows() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let mut rows = RowBatch::new();
    for key in [&b"a1"[..], b"a2", b"b1", b""] {
        rows.put(key, b"v");
    }
    write(&engine, &rows);
    let state = engine.state();
    let keys = |range: &KeyRange| -> Vec<Vec<u8>> {
        state
            .scan(range, 10)
            .unwrap()
            .into_iter()
            .map(|(key, _)| key)
            .collect()
    };
    assert_eq!(
        keys(&KeyRange::all()),
        [b"".to_vec(), b"a1".to_vec(), b"a2".to_vec(), b"b1".to_vec()]
    );
    assert_eq!(keys(&KeyRange::prefix(b"a")), [b"a1", b"a2"]);
    assert_eq!(keys(&KeyRange::new(b"a2", b"a2")), Vec::<Vec<u8>>::new());
    assert_eq!(keys(&KeyRange::new(b"b", b"a")), Vec::<Vec<u8>>::new());
    assert_eq!(state.scan(&KeyRange::all(), 2).unwrap().len(), 2);
    let (before, after) = state
        .read(|view| {
            let mut change = RowBatch::new();
            change.delete_range(KeyRange::prefix(b"a"));
            change.put(b"c1", b"new");
            write(&engine, &change);
            (
                view.multi_get(&[b"a1", b"c1"]).unwrap(),
                view.scan(&KeyRange::all(), 10).unwrap().len(),
            )
        })
        .unwrap();
    assert_eq!((before, after), (vec![Some(b"v".to_vec()), None], 4));
    assert_eq!(
        state.multi_get(&[b"a1", b"c1"]).unwrap(),
        vec![None, Some(b"new".to_vec())]
    );
    assert_eq!(state.get(b"b1").unwrap(), Some(b"v".to_vec()));
    engine.close().await;
}
