//! Compiling RocksDB in groups gives the same global symbols as the compiler gives one file at a time.
//!
//! The whole comparison costs half an hour, so this takes the first group of the source list both ways; the archive
//! that was linked is checked to hold RocksDB's own entry points.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const WRAPPER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ops/build/rocksdb-cxx");
const MEMBERS: usize = 3;

fn sources() -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(manifest)
        .exec()
        .unwrap();
    let package = metadata
        .packages
        .iter()
        .find(|p| p.name.as_str() == "librocksdb-sys")
        .unwrap();
    package.manifest_path.parent().unwrap().into()
}

fn compile(program: &str, group: usize, dir: &Path, sources: &Path, member: &str, object: &Path) {
    let done = Command::new(program)
        .env("ESCAPEMENT_CXX_GROUP", group.to_string())
        .current_dir(sources)
        .args([
            "-O0",
            "-std=c++20",
            "-include",
            "cstdint",
            "-DNDEBUG",
            "-DOS_LINUX",
            "-DROCKSDB_PLATFORM_POSIX",
        ])
        .args([
            "-DROCKSDB_LIB_IO_POSIX",
            "-I",
            "rocksdb/include",
            "-I",
            "rocksdb",
            "-I",
            ".",
            "-o",
        ])
        .arg(object)
        .args(["-c", &format!("rocksdb/{member}")])
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{member} in {}: {}",
        dir.display(),
        String::from_utf8_lossy(&done.stderr)
    );
}

fn global_text_symbols(objects: &[PathBuf]) -> BTreeSet<String> {
    let out = Command::new("nm")
        .args(["-g", "--defined-only"])
        .args(objects)
        .output()
        .unwrap();
    assert!(out.status.success());
    String::from_utf8(out.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let (_, kind, name) = (fields.next()?, fields.next()?, fields.next()?);
            (kind == "T").then(|| name.to_owned())
        })
        .collect()
}

#[test]
fn a_group_has_the_symbols_of_its_members() {
    let sources = sources();
    let list = std::fs::read_to_string(sources.join("rocksdb_lib_sources.txt")).unwrap();
    let members: Vec<&str> = list.lines().map(str::trim).take(MEMBERS).collect();
    let dir = tempfile::tempdir().unwrap();
    let (mut grouped, mut single) = (Vec::new(), Vec::new());
    for (i, member) in members.iter().enumerate() {
        grouped.push(dir.path().join(format!("g{i}.o")));
        compile(WRAPPER, MEMBERS, dir.path(), &sources, member, &grouped[i]);
        single.push(dir.path().join(format!("s{i}.o")));
        compile("c++", 1, dir.path(), &sources, member, &single[i]);
    }
    let symbols = global_text_symbols(&grouped);
    assert!(symbols.len() > 10, "{} symbols", symbols.len());
    assert_eq!(symbols, global_text_symbols(&single));
    assert!(
        global_text_symbols(&grouped[1..]).is_empty(),
        "only the first member of a group has code"
    );
}

#[test]
fn what_is_not_rocksdb_goes_to_the_compiler_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("other.cc");
    std::fs::write(&source, "int answer() { return 42; }\n").unwrap();
    let object = dir.path().join("other.o");
    let done = Command::new(WRAPPER)
        .current_dir(dir.path())
        .arg("-o")
        .arg(&object)
        .arg("-c")
        .arg(&source)
        .status();
    assert!(done.unwrap().success());
    assert_eq!(
        global_text_symbols(&[object]),
        BTreeSet::from(["_Z6answerv".to_owned()])
    );
}
