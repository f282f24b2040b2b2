//! Files that were cut or changed while nobody looked, and a disk that is full: a clear error that names the thing, or a
//! recovery; never a panic, and nothing that was acknowledged is lost.

use crate::program::{crawl_command, last_json, paced_crawl, run, stderr};
use fakeweb::{FakeWeb, FakeWebOptions, RunningFakeWeb};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn web(hosts: u32) -> RunningFakeWeb {
    let mut options = FakeWebOptions::new(hosts, 2);
    options.shape.max_pages_per_host = 8;
    options.features.robots_errors = false;
    options.features.slow_hosts = false;
    FakeWeb::start(options).unwrap()
}

/// A crawl that was killed after some requests.
fn killed(web: &RunningFakeWeb, out: &Path) {
    let mut child = crawl_command(&web.seed_url, web.addr, out);
    let mut child = child
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while web.requests() < 20 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the crawl ended before it was killed"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The largest file below a directory whose name ends so.
fn largest(dir: &Path, ending: &str) -> PathBuf {
    let files = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let named = files.filter(|path| path.to_string_lossy().ends_with(ending));
    named
        .max_by_key(|path| path.metadata().unwrap().len())
        .unwrap()
}

fn append(path: &Path, data: &[u8]) {
    OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(data)
        .unwrap();
}

fn flip(path: &Path, at: u64) {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte[0] ^ 0x55]).unwrap();
}

// case L28, K4
#[test]
fn torn_tails_are_cut_and_the_crawl_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("crawl");
    let web = web(10);
    killed(&web, &out);
    append(&largest(&out.join("frontier/log"), ".log"), &[0x5a; 37]);
    append(
        &largest(&out.join("pages"), ".warc.gz"),
        &[0x1f, 0x8b, 8, 4, 9, 9, 9],
    );
    let output = crawl_command(&web.seed_url, web.addr, &out)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let summary = last_json(&output);
    assert_eq!(
        (&summary["end"], &summary["conserved"]),
        (&"finished".into(), &true.into()),
        "{summary}"
    );
}

// case L28
#[test]
fn damage_inside_the_log_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("crawl");
    let web = web(10);
    killed(&web, &out);
    let log = largest(&out.join("frontier/log"), ".log");
    flip(&log, log.metadata().unwrap().len() / 2);
    let output = crawl_command(&web.seed_url, web.addr, &out)
        .output()
        .unwrap();
    let errors = stderr(&output);
    assert!(!output.status.success(), "{errors}");
    assert!(
        errors.contains(log.file_name().unwrap().to_str().unwrap()),
        "{errors}"
    );
    assert!(!errors.contains("panicked"), "{errors}");
}

// case K11
#[test]
fn a_damaged_page_is_told_from_a_good_one() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("crawl");
    let web = web(4);
    let output = crawl_command(&web.seed_url, web.addr, &out)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let segment = largest(&out.join("pages"), ".warc.gz");
    flip(&segment, segment.metadata().unwrap().len() / 2);
    let listed = run(&["inspect", "crawl", "--out", out.to_str().unwrap()]);
    let text = String::from_utf8(listed.stdout).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let digests: Vec<String> = lines
        .filter_map(|line| line["digest"].as_str().map(str::to_owned))
        .collect();
    let (mut good, mut bad) = (0, 0);
    for digest in &digests {
        let got = run(&["get", "--out", out.to_str().unwrap(), digest]);
        if got.status.success() {
            assert_eq!(page_store::Digest::of(&got.stdout).to_string(), *digest);
            good += 1;
        } else {
            assert!(stderr(&got).contains("pages-"), "{}", stderr(&got));
            bad += 1;
        }
    }
    assert!(good > 0 && bad > 0, "{good} good, {bad} bad");
}

/// A file system of its own, small enough to fill. Needs root.
struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    fn mount(at: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(at)
            .output();
        mount
            .is_ok_and(|done| done.status.success())
            .then(|| Self { at: at.to_owned() })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

// case J4
#[test]
fn a_full_disk_is_named_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("disk");
    let Some(_disk) = SmallDisk::mount(&at, "400m") else {
        println!(
            "no small disk could be mounted (not root?): this test needs one and checks nothing here"
        );
        return;
    };
    let (out, ballast) = (at.join("crawl"), at.join("ballast"));
    let web = web(12);
    let mut child = paced_crawl(&web.seed_url, web.addr, &out, "300ms", "60s");
    let mut child = child
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while web.requests() < 15 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the crawl ended before the disk was full"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    fill(&ballast);
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(
        child.try_wait().unwrap().is_none(),
        "a full disk must not end the crawl"
    );
    std::fs::remove_file(&ballast).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let summary = last_json(&output);
    assert_eq!(
        (&summary["end"], &summary["conserved"]),
        (&"finished".into(), &true.into()),
        "{summary}"
    );
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}

fn fill(ballast: &Path) {
    let mut file = File::create(ballast).unwrap();
    let block = vec![7u8; 1 << 20];
    while file.write_all(&block).is_ok() {}
    while file.write_all(&[7]).is_ok() {}
}
