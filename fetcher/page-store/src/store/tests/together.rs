//! Many puts at once: one segment, one record a payload, shared fsyncs, bounds.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn first_writers_race_and_segments_rotate_between_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut small = options(dir.path());
    small.segment_max_size_bytes = 6_000;
    let store = PageStore::open(small.clone()).unwrap();
    let puts = (0..60u64).map(|seed| {
        let store = store.clone();
        let size_bytes = if seed == 30 { 20_000 } else { 1_000 };
        tokio::spawn(async move {
            store
                .put(capture("http://a.example/", noise(seed, size_bytes)))
                .await
                .unwrap()
        })
    });
    let puts: Vec<_> = puts.collect();
    let mut places: Vec<Place> = Vec::new();
    for put in puts {
        places.push(put.await.unwrap().place);
    }
    places.sort_unstable();
    let stats = store.stats();
    drop(store);
    let store = PageStore::open(small).unwrap();
    assert_eq!(
        StoreStats { fsyncs: 0, ..stats },
        StoreStats {
            fsyncs: 0,
            ..store.stats()
        }
    );
    let records: Vec<_> = store.records().map(Result::unwrap).collect();
    let infos: Vec<u32> = records
        .iter()
        .filter(|r| r.kind == RecordKind::Info)
        .map(|r| r.place.segment)
        .collect();
    assert_eq!(
        infos,
        (1..=stats.segments as u32).collect::<Vec<u32>>(),
        "one warcinfo opens each segment"
    );
    let stored: Vec<Place> = records
        .iter()
        .filter(|r| r.kind == RecordKind::Stored)
        .map(|r| r.place)
        .collect();
    assert_eq!(stored, places);
    assert_eq!(store.scrub().problems, []);
    drop(store);
    let mut oversized = 0;
    for number in segment::list(dir.path()).unwrap() {
        let size_bytes = fs::metadata(segment::path(dir.path(), number))
            .unwrap()
            .len();
        oversized += u32::from(size_bytes > 6_000);
        let reader = warc::WarcReader::from_path_gzip(segment::path(dir.path(), number)).unwrap();
        assert!(
            reader.iter_records().all(|record| record.is_ok()),
            "segment {number}"
        );
    }
    assert_eq!(oversized, 1, "only the page that is larger than a segment");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_bytes_put_at_once_are_stored_once_and_all_refer_to_that() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let puts = (0..32).map(|at| {
        let store = store.clone();
        tokio::spawn(async move {
            store
                .put(capture(&format!("http://h{at}.example/"), "same"))
                .await
                .unwrap()
        })
    });
    let puts: Vec<_> = puts.collect();
    let mut stored = 0;
    for put in puts {
        stored += u32::from(put.await.unwrap().outcome == Outcome::Stored);
    }
    assert_eq!(stored, 1);
    let kinds = kinds(&store);
    assert_eq!(
        kinds[..2],
        [RecordKind::Info, RecordKind::Stored],
        "the first capture comes before all that refer to it"
    );
    assert_eq!(kinds.len(), 33);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn puts_that_wait_together_share_an_fsync() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let puts = (0..200u64).map(|seed| {
        let store = store.clone();
        tokio::spawn(async move {
            store
                .put(capture("http://a.example/", noise(seed, 10)))
                .await
                .unwrap()
        })
    });
    for put in puts.collect::<Vec<_>>() {
        put.await.unwrap();
    }
    let stats = store.stats();
    assert_eq!(stats.payloads, 200);
    assert!(stats.fsyncs <= 201, "{stats:?}");
}

#[tokio::test]
async fn a_put_that_is_dropped_leaves_no_claim() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for _ in 0..20 {
        let put = store.put(capture("http://a.example/", "x"));
        tokio::select! {
            biased;
            () = tokio::task::yield_now() => {}
            _ = put => {}
        }
    }
    let put = store.put(capture("http://a.example/", "x")).await.unwrap();
    assert_eq!(put.digest, Digest::of(b"x"));
    assert_eq!(store.stats().payloads, 1);
}

#[tokio::test]
async fn more_puts_than_may_wait_all_get_through() {
    let dir = tempfile::tempdir().unwrap();
    let mut tight = options(dir.path());
    tight.waiting_max_count = 2;
    tight.waiting_max_size_bytes = 1_500;
    tight.group_max_size_bytes = 1;
    let store = PageStore::open(tight).unwrap();
    let puts = (0..20u64).map(|seed| {
        let store = store.clone();
        tokio::spawn(async move {
            store
                .put(capture("http://a.example/", noise(seed, 1_000)))
                .await
                .unwrap()
        })
    });
    for put in puts.collect::<Vec<_>>() {
        put.await.unwrap();
    }
    assert_eq!(store.stats().payloads, 20);
}
