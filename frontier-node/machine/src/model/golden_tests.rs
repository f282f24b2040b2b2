//! Plays the scripts in `golden/` and compares the answers. `UPDATE_GOLDEN=1` writes what the machine answers now.

use super::script;
use std::{fs, path::PathBuf};

// Scripts are files, so that a person reads them without this crate; the ban on the environment is for apply.
#[allow(clippy::disallowed_methods)]
fn is_update() -> bool {
    std::env::var("UPDATE_GOLDEN").is_ok()
}

#[test]
fn scripts_get_the_answers_they_name() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    assert!(paths.len() >= 12, "{} scripts", paths.len());
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let played =
            script::play(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if is_update() {
            fs::write(&path, &played).unwrap();
        } else {
            assert_eq!(text, played, "{}", path.display());
        }
    }
}
