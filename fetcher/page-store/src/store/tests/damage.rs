//! What the disk did to a page is noticed (case K11).

use super::*;

#[tokio::test]
async fn a_damaged_record_is_named_and_the_others_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut puts = Vec::new();
    for seed in 0..3 {
        puts.push(
            store
                .put(capture("http://a.example/", noise(seed, 1_000)))
                .await
                .unwrap(),
        );
    }
    let place = puts[1].place;
    overwrite(
        &segment::path(dir.path(), 1),
        place.offset_bytes + place.size_bytes / 2,
        b"damage",
    );
    let damaged = store.get(&puts[1].digest);
    assert!(
        matches!(damaged, Err(GetError::Damaged { offset_bytes, .. }) if offset_bytes == place.offset_bytes),
        "{damaged:?}"
    );
    assert!(
        store.get(&puts[0].digest).unwrap().is_some()
            && store.get(&puts[2].digest).unwrap().is_some()
    );
    let report = store.scrub();
    assert_eq!((report.payloads, report.records), (2, 3));
    assert!(
        report
            .problems
            .iter()
            .all(|problem| problem.offset_bytes == Some(place.offset_bytes)),
        "{:?}",
        report.problems
    );
    assert!(
        report
            .problems
            .iter()
            .any(|problem| problem.to_string().contains("pages-000001.warc.gz at byte"))
    );
    assert!(
        report
            .problems
            .iter()
            .any(|problem| problem.what.contains("is lost"))
    );
    let errors = store.records().filter(Result::is_err).count();
    assert_eq!((errors, store.records().count()), (1, 4));
}

#[tokio::test]
async fn a_payload_that_is_another_one_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    // Two records of one size: the ids in them make sizes differ by a byte or two.
    let mut by_size = std::collections::BTreeMap::new();
    let mut seed = 0;
    let (first, second) = loop {
        seed += 1;
        let put = store
            .put(capture("http://a.example/", noise(seed, 500)))
            .await
            .unwrap();
        if let Some(earlier) = by_size.insert(put.place.size_bytes, put) {
            break (earlier, put);
        }
    };
    let path = segment::path(dir.path(), 1);
    let bytes = fs::read(&path).unwrap();
    let from = second.place.offset_bytes as usize;
    overwrite(
        &path,
        first.place.offset_bytes,
        &bytes[from..from + second.place.size_bytes as usize],
    );
    let wrong = store.get(&first.digest);
    let reason = BadRecord::Digest {
        wanted: first.digest,
        found: second.digest,
    };
    assert!(matches!(wrong, Err(GetError::Damaged { reason: found, .. }) if found == reason));
    assert!(store.scrub().problem_count > 0);
}
