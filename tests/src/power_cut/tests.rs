//! The harness itself: what is not synced goes, what is synced stays, a lie is caught.

use super::{Journal, Library, Mercy, cut};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Bench {
    _dir: tempfile::TempDir,
    library: Library,
    root: PathBuf,
    work: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (root, work) = (base.join("root"), base.join("work"));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(work.join("saved")).unwrap();
        Self {
            library: Library::build(&base).unwrap(),
            root,
            work,
            _dir: dir,
        }
    }

    /// Runs a shell script of plain tools: `dd conv=fsync` syncs a file, `sync DIR` a directory.
    fn shell(&self, script: &str, stop_at: u64, lie: &str) {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .current_dir(&self.root)
            .env("POWERCUT_LIE", lie);
        self.library
            .watch(&mut command, &self.root, &self.work, stop_at)
            .status()
            .unwrap();
    }

    fn cut(&self, mercy: Mercy) -> super::CutReport {
        let journal = Journal::read(&self.work.join("journal")).unwrap();
        cut(&self.root, &self.work.join("saved"), &journal, mercy).unwrap()
    }

    fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(Path::new(&self.root).join(name)).ok()
    }
}

const SYNCED: &str = "printf kept | dd of=a conv=fsync 2>/dev/null; sync .";

#[test]
fn synced_data_and_names_stay() {
    let bench = Bench::new();
    bench.shell(SYNCED, 0, "");
    bench.cut(Mercy::None);
    assert_eq!(bench.text("a").as_deref(), Some("kept"));
}

#[test]
fn unsynced_tail_is_cut() {
    let bench = Bench::new();
    bench.shell(&format!("{SYNCED}; printf lost >>a"), 0, "");
    assert_eq!(bench.text("a").as_deref(), Some("keptlost"));
    let report = bench.cut(Mercy::None);
    assert_eq!(bench.text("a").as_deref(), Some("kept"));
    assert_eq!((report.cut_files, report.cut_bytes), (1, 4));
}

#[test]
fn a_name_without_its_directory_synced_goes() {
    let bench = Bench::new();
    bench.shell("printf kept | dd of=a conv=fsync 2>/dev/null", 0, "");
    bench.cut(Mercy::None);
    assert_eq!(bench.text("a"), None);
}

#[test]
fn an_unsynced_rename_is_undone_with_what_it_replaced() {
    let bench = Bench::new();
    let both = "printf old | dd of=b conv=fsync 2>/dev/null; printf new | dd of=a conv=fsync 2>/dev/null; sync .";
    bench.shell(&format!("{both}; mv a b"), 0, "");
    assert_eq!(bench.text("b").as_deref(), Some("new"));
    bench.cut(Mercy::None);
    assert_eq!(bench.text("b").as_deref(), Some("old"));
    assert_eq!(bench.text("a").as_deref(), Some("new"));
}

#[test]
fn an_unsynced_unlink_is_undone() {
    let bench = Bench::new();
    bench.shell(&format!("{SYNCED}; rm a"), 0, "");
    assert_eq!(bench.text("a"), None);
    bench.cut(Mercy::None);
    assert_eq!(bench.text("a").as_deref(), Some("kept"));
}

#[test]
fn a_lie_counts_as_no_sync() {
    let bench = Bench::new();
    bench.shell(SYNCED, 0, "/a");
    bench.cut(Mercy::None);
    assert_eq!(bench.text("a").as_deref(), Some(""));
}

#[test]
fn the_process_stops_before_the_chosen_call() {
    let bench = Bench::new();
    bench.shell("printf kept | dd of=a conv=fsync 2>/dev/null", 1, "");
    let journal = Journal::read(&bench.work.join("journal")).unwrap();
    assert_eq!(journal.stop().map(|(what, _)| what), Some("create"));
    assert_eq!(bench.text("a"), None);
}

#[test]
fn mercy_keeps_at_least_what_was_synced() {
    for seed in 1..20 {
        let bench = Bench::new();
        bench.shell(&format!("{SYNCED}; printf 12345678 >>a"), 0, "");
        bench.cut(Mercy::Seed(seed));
        let text = bench.text("a").unwrap();
        assert!(
            "kept12345678".starts_with(&text) && text.len() >= 4,
            "{text}"
        );
    }
}
