//! Opening after a crash: torn tails, damage, missing files, a lost index.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::digest::Digest;
use crate::error::OpenError;
use crate::page::Put;
use crate::segment;
use crate::store::PageStore;
use crate::testing::{FaultyDisk, capture, copy_dir, cut, noise, options, overwrite};

/// A store of one segment whose index on disk is empty, as a crash leaves it before the first flush; and what was put.
struct Crashed {
    parent: TempDir,
    puts: Vec<Put>,
}

impl Crashed {
    async fn new(page_count: u64) -> Crashed {
        let parent = tempfile::tempdir().unwrap();
        let (live, crashed) = (parent.path().join("live"), parent.path().join("crashed"));
        let store = PageStore::open(options(&live)).unwrap();
        let mut puts = Vec::new();
        for seed in 0..page_count {
            puts.push(
                store
                    .put(capture(
                        &format!("http://h{seed}.example/"),
                        noise(seed, 200),
                    ))
                    .await
                    .unwrap(),
            );
        }
        copy_dir(&live, &crashed);
        Crashed { parent, puts }
    }

    fn copy(&self, name: &str) -> PathBuf {
        let to = self.parent.path().join(name);
        copy_dir(&self.parent.path().join("crashed"), &to);
        to
    }

    fn copy_cut(&self, name: &str, size_bytes: u64) -> PathBuf {
        let dir = self.copy(name);
        cut(&segment::path(&dir, 1), size_bytes);
        dir
    }
}

fn open(dir: &Path) -> Result<PageStore, OpenError> {
    PageStore::open(options(dir))
}

fn known(store: &PageStore, puts: &[Put]) -> Vec<bool> {
    puts.iter()
        .map(|put| store.get(&put.digest).unwrap().is_some())
        .collect()
}

// case K4: cut at every byte of the last record, the store recovers to the last whole record, and always ends.
#[tokio::test]
async fn cut_at_every_byte_of_the_last_record() {
    let crashed = Crashed::new(3).await;
    let last = crashed.puts[2].place;
    for size_bytes in last.offset_bytes..=last.end_bytes() {
        let dir = crashed.copy_cut("cut", size_bytes);
        let store = open(&dir).unwrap();
        let is_whole = size_bytes == last.end_bytes();
        assert_eq!(
            known(&store, &crashed.puts),
            [true, true, is_whole],
            "cut at {size_bytes}"
        );
        let kept_bytes = if is_whole {
            last.end_bytes()
        } else {
            last.offset_bytes
        };
        assert_eq!(
            fs::metadata(segment::path(&dir, 1)).unwrap().len(),
            kept_bytes
        );
        assert_eq!(store.stats().bytes, kept_bytes);
        drop(store);
        fs::remove_dir_all(dir).unwrap();
    }
}

// case K4: writing goes on where the cut was, and what was lost may be put again.
#[tokio::test]
async fn writing_goes_on_after_a_cut() {
    let crashed = Crashed::new(3).await;
    let last = crashed.puts[2].place;
    let store = open(&crashed.copy_cut("cut", last.end_bytes() - 1)).unwrap();
    let again = store
        .put(capture("http://h2.example/", noise(2, 200)))
        .await
        .unwrap();
    assert_eq!(again.digest, crashed.puts[2].digest);
    assert_eq!(again.place.offset_bytes, last.offset_bytes);
    assert_eq!(store.scrub().problems, []);
}

// case K4: a tail of zeros or of anything else is cut.
#[tokio::test]
async fn a_tail_of_other_bytes_is_cut() {
    let crashed = Crashed::new(2).await;
    let end_bytes = crashed.puts[1].place.end_bytes();
    for (name, tail) in [
        ("zeros", vec![0; 5_000]),
        ("noise", noise(9, 5_000).to_vec()),
        ("short", vec![0x1f]),
    ] {
        let dir = crashed.copy(name);
        overwrite(&segment::path(&dir, 1), end_bytes, &tail);
        let store = open(&dir).unwrap();
        assert_eq!(known(&store, &crashed.puts), [true, true]);
        assert_eq!(
            fs::metadata(segment::path(&dir, 1)).unwrap().len(),
            end_bytes
        );
    }
}

/// Each put was synced before the next: damage in an earlier one is loss of durable bytes, and cutting would lose the later ones too.
#[tokio::test]
async fn damage_before_a_record_that_came_after_its_sync_is_refused() {
    let crashed = Crashed::new(3).await;
    let dir = crashed.copy("damaged");
    let place = crashed.puts[1].place;
    overwrite(&segment::path(&dir, 1), place.offset_bytes + 40, b"damage");
    let refused = open(&dir).map(|_| ()).unwrap_err();
    assert!(
        refused.to_string().contains(&format!(
            "pages-000001.warc.gz is damaged at byte {}",
            place.offset_bytes
        )),
        "{refused}"
    );
    assert_eq!(
        fs::metadata(segment::path(&dir, 1)).unwrap().len(),
        crashed.puts[2].place.end_bytes(),
        "nothing is cut"
    );
}

/// Records of one group share a sync: of those, any may be missing after a power cut.
#[tokio::test]
async fn a_hole_inside_one_unsynced_group_is_cut() {
    let parent = tempfile::tempdir().unwrap();
    let (live, image) = (parent.path().join("live"), parent.path().join("image"));
    let disk = FaultyDisk::default();
    let store = PageStore::open_on(disk.clone(), options(&live)).unwrap();
    let first = store
        .put(capture("http://a.example/", noise(0, 200)))
        .await
        .unwrap();
    // The writer is held in its first sync by the image being copied, so that the others wait and share the next one.
    let put = |seed| store.put(capture("http://a.example/", noise(seed, 200)));
    let mut places = Vec::new();
    for round in 0..50u64 {
        disk.0.lock().image_at_sync =
            Some((live.clone(), parent.path().join(format!("hold-{round}"))));
        let puts = tokio::join!(
            put(round * 4 + 1),
            put(round * 4 + 2),
            put(round * 4 + 3),
            put(round * 4 + 4)
        );
        places = [puts.0, puts.1, puts.2, puts.3]
            .into_iter()
            .map(|put| put.unwrap().place)
            .collect();
        places.sort_unstable();
        if group_starts(&live, &places)
            .windows(2)
            .any(|pair| pair[0] == pair[1])
        {
            break;
        }
    }
    let starts = group_starts(&live, &places);
    let shared = (0..3)
        .rev()
        .find(|at| starts[*at] == starts[at + 1])
        .expect("a group of two");
    copy_dir(&live, &image);
    let path = segment::path(&image, 1);
    cut(&path, places[shared + 1].end_bytes());
    overwrite(
        &path,
        places[shared].offset_bytes,
        &vec![0; places[shared].size_bytes as usize],
    );
    let store = open(&image).unwrap();
    assert!(store.contains(&first.digest).unwrap());
    assert_eq!(
        fs::metadata(&path).unwrap().len(),
        places[shared].offset_bytes
    );
    assert_eq!(store.scrub().problems, []);
}

fn group_starts(dir: &Path, places: &[crate::page::Place]) -> Vec<u64> {
    let bytes = fs::read(segment::path(dir, 1)).unwrap();
    let prefix = |place: &crate::page::Place| {
        crate::warc::MemberPrefix::parse(&bytes[place.offset_bytes as usize..]).unwrap()
    };
    places
        .iter()
        .map(|place| prefix(place).group_start_bytes)
        .collect()
}

#[tokio::test]
async fn a_file_shorter_than_its_mark_and_a_missing_one_are_refused() {
    let crashed = Crashed::new(2).await;
    let dir = crashed.copy("flushed");
    drop(open(&dir).unwrap());
    let end_bytes = crashed.puts[1].place.end_bytes();
    cut(&segment::path(&dir, 1), end_bytes - 1);
    let short = open(&dir).map(|_| ());
    assert!(
        matches!(short, Err(OpenError::Short { durable_bytes, .. }) if durable_bytes == end_bytes),
        "{short:?}"
    );
    fs::remove_file(segment::path(&dir, 1)).unwrap();
    assert!(
        matches!(open(&dir).map(|_| ()), Err(OpenError::Missing { durable_bytes, .. }) if durable_bytes == end_bytes)
    );
}

#[tokio::test]
async fn damage_in_the_last_record_below_the_mark_is_refused_with_its_place() {
    let crashed = Crashed::new(2).await;
    let dir = crashed.copy("flushed");
    drop(open(&dir).unwrap());
    let place = crashed.puts[1].place;
    overwrite(&segment::path(&dir, 1), place.offset_bytes + 50, b"damage");
    let refused = open(&dir).map(|_| ());
    assert!(
        matches!(refused, Err(OpenError::Damaged { offset_bytes, .. }) if offset_bytes == place.offset_bytes),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_lost_index_is_rebuilt_from_the_segments() {
    let parent = tempfile::tempdir().unwrap();
    let mut small = options(parent.path());
    small.segment_max_size_bytes = 2_000;
    let store = PageStore::open(small.clone()).unwrap();
    let mut puts = Vec::new();
    for seed in [0, 1, 2, 3, 1, 4, 5, 0] {
        puts.push(
            store
                .put(capture("http://a.example/", noise(seed, 600)))
                .await
                .unwrap(),
        );
    }
    let (before, stats) = (store.get(&puts[1].digest).unwrap(), store.stats());
    assert!(stats.segments > 2);
    drop(store);
    fs::remove_dir_all(parent.path().join("index")).unwrap();
    let store = PageStore::open(small.clone()).unwrap();
    assert_eq!(store.get(&puts[1].digest).unwrap(), before);
    let same = |stats: crate::StoreStats| crate::StoreStats { fsyncs: 0, ..stats };
    assert_eq!(same(store.stats()), same(stats));
    assert_eq!(store.scrub().problems, []);
    drop(store);
    // Without an index, a segment that is not the last must be whole: the next one was created after its last sync.
    fs::remove_dir_all(parent.path().join("index")).unwrap();
    let size_bytes = fs::metadata(segment::path(parent.path(), 1)).unwrap().len();
    cut(&segment::path(parent.path(), 1), size_bytes - 1);
    assert!(
        matches!(PageStore::open(small).map(|_| ()), Err(OpenError::Damaged { path, .. }) if path.ends_with("pages-000001.warc.gz"))
    );
}

#[tokio::test]
async fn a_segment_whose_creation_did_not_end_is_removed() {
    let crashed = Crashed::new(1).await;
    let dir = crashed.copy("unfinished");
    let unfinished = dir.join("pages-000002.warc.gz.new");
    fs::write(&unfinished, b"half").unwrap();
    let store = open(&dir).unwrap();
    assert!(!unfinished.exists());
    assert!(store.contains(&crashed.puts[0].digest).unwrap());
}

#[test]
fn a_segment_without_any_record_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(segment::path(dir.path(), 1), b"").unwrap();
    assert!(matches!(
        open(dir.path()).map(|_| ()),
        Err(OpenError::Damaged {
            offset_bytes: 0,
            ..
        })
    ));
    fs::write(segment::path(dir.path(), 1), noise(1, 500)).unwrap();
    assert!(matches!(
        open(dir.path()).map(|_| ()),
        Err(OpenError::Damaged {
            offset_bytes: 0,
            ..
        })
    ));
}

#[tokio::test]
async fn the_index_is_flushed_by_time_so_that_a_restart_reads_little() {
    let dir = tempfile::tempdir().unwrap();
    let mut quick = options(dir.path());
    quick.index_flush_interval_ms = 1;
    let store = PageStore::open(quick).unwrap();
    let put = store.put(capture("http://a.example/", "x")).await.unwrap();
    let copy = dir.path().join("copy");
    let is_flushed = || {
        let _ = fs::remove_dir_all(&copy);
        copy_dir(&dir.path().join("index"), &copy);
        let flushed = crate::index::Index::open(&copy);
        flushed.is_ok_and(|index| index.get(&Digest::of(b"x")).is_ok_and(|row| row.is_some()))
    };
    let mut attempts_left = 10_000;
    while !is_flushed() && attempts_left > 0 {
        attempts_left -= 1;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(attempts_left > 0, "never flushed");
    assert_eq!(put.digest, Digest::of(b"x"));
}
