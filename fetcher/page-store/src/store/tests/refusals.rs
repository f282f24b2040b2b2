//! What is refused, by name.

use super::*;

#[tokio::test]
async fn bad_input_is_refused_by_name_and_stores_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut small = options(dir.path());
    small.payload_max_size_bytes = 10;
    let store = PageStore::open(small).unwrap();
    let refused = store.put(capture("http://a.example/", "eleven byte")).await;
    assert_eq!(
        refused,
        Err(PutError::TooLarge {
            size_bytes: 11,
            max_bytes: 10
        })
    );
    let refused = store.put(capture("http://a.example/\n", "x")).await;
    assert_eq!(
        refused,
        Err(PutError::Invalid(InvalidCapture::UrlCharacter))
    );
    let late = Capture {
        captured_at_unix_ms: u64::MAX,
        ..capture("http://a.example/", "x")
    };
    assert_eq!(
        store.put(late).await,
        Err(PutError::Invalid(InvalidCapture::Date(u64::MAX)))
    );
    assert_eq!(store.stats().records, 0);
    // The refused capture held no claim on its digest.
    assert_eq!(
        store
            .put(capture("http://a.example/", "x"))
            .await
            .unwrap()
            .outcome,
        Outcome::Stored
    );
}

#[tokio::test]
async fn a_directory_has_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let second = PageStore::open(options(dir.path())).map(|_| ());
    assert!(matches!(second, Err(OpenError::Locked { dir: named }) if named == dir.path()));
    drop(store);
    assert!(PageStore::open(options(dir.path())).is_ok());
}

#[test]
fn opening_names_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = options(dir.path());
    wrong.compression_level = 10;
    assert!(
        matches!(PageStore::open(wrong), Err(OpenError::Option(option)) if option.name == "compression_level")
    );
    let orphan = dir.path().join("no/parent");
    assert!(
        matches!(PageStore::open(options(&orphan)), Err(OpenError::Io { what: "create", path, .. }) if path == orphan)
    );
    fs::write(dir.path().join("store-id"), "xyz").unwrap();
    assert!(matches!(
        PageStore::open(options(dir.path())),
        Err(OpenError::StoreId { .. })
    ));
}
