//! Backups that are not whole or of another identity, clusters that are not empty, restores that are interrupted or made twice:
//! refused with the reason, and nothing is changed; or gone on with.

use super::{Nodes, Talk};
use crate::program::{escapement, run, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// URLs that are backed up: some blocks of rows for each shard.
const URLS: usize = 6_000;
/// Restores that are killed before one may end.
const KILLS: u64 = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_is_whole_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup");
    let mut old = Nodes::new(&dir.path().join("old"), 1);
    old.start_ready().await.unwrap();
    let talk = Talk::connect(&old.addresses()).await;
    talk.set_up("http://seed.example/").await.unwrap();
    offer(&talk).await;
    let accepted = count(&talk).await;
    assert_eq!(accepted, URLS as u64 + 1);
    ctl(&old, 0, "", &["backup", text(&backup)]);
    ctl(&old, 1, "not empty", &["backup", text(&backup)]);
    ctl(&old, 1, "it has URLs", &["restore", text(&backup)]);
    assert_eq!(count(&talk).await, accepted);

    // Another identity: founded without the backup's secret.
    let mut other = Nodes::new(&dir.path().join("other"), 1);
    other.start_ready().await.unwrap();
    ctl(&other, 1, "another identity", &["restore", text(&backup)]);
    assert!(other.terminate_all().await.iter().all(|end| end.success()));

    let mut new = Nodes::new(&dir.path().join("new"), 3).with_shards(5);
    for number in new.numbers() {
        let mut command = new.command(number);
        command
            .arg("--fingerprint-secret")
            .arg(backup.join("secret"));
        new.start_by(number, command);
    }
    new.wait_ready().await.unwrap();
    ctl(&new, 0, "", &["restore", text(&backup), "--check"]);
    for damaged in damaged(&backup, dir.path()) {
        ctl(&new, 1, "damaged", &["restore", text(&damaged)]);
    }
    let unfinished = copy(&backup, &dir.path().join("unfinished"));
    std::fs::remove_file(unfinished.join("manifest.json")).unwrap();
    ctl(&new, 1, "no whole backup", &["restore", text(&unfinished)]);
    let restored = Talk::connect(&new.addresses()).await;
    assert_eq!(count(&restored).await, 0);

    let mut ended = false;
    for nth in 0..KILLS {
        ended |= killed(&new, &backup, Duration::from_millis(20 * nth)).await;
    }
    if !ended {
        ctl(&new, 0, "", &["restore", text(&backup)]);
    }
    ctl(
        &new,
        1,
        "restored into this cluster before",
        &["restore", text(&backup)],
    );
    assert_eq!(count(&restored).await, accepted);
    let record = restored.url(1, &url(17)).await.unwrap().unwrap();
    assert_eq!(record.url, url(17));
    assert!(new.terminate_all().await.iter().all(|end| end.success()));
    assert!(old.terminate_all().await.iter().all(|end| end.success()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_backup_on_a_full_disk_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 1);
    nodes.start_ready().await.unwrap();
    let talk = Talk::connect(&nodes.addresses()).await;
    talk.set_up("http://seed.example/").await.unwrap();
    offer(&talk).await;
    let backup = dir.path().join("backup");
    // A limit on the size of files stops the writing as a full disk does.
    let frontier = nodes.addresses().join(",");
    let program = escapement();
    let command = format!(
        "trap '' XFSZ; ulimit -f 100; exec {} ctl --frontier {frontier} backup {}",
        program.display(),
        backup.display()
    );
    let output = Command::new("bash")
        .args(["-c", &command])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write"), "{said}");
    assert!(!backup.exists());
    ctl(&nodes, 0, "", &["backup", text(&backup)]);
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

/// Copies of the backup, each damaged in its own way.
fn damaged(backup: &Path, dir: &Path) -> Vec<PathBuf> {
    let change = |name: &str, file: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let copied = copy(backup, &dir.join(name));
        let path = copied.join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        change(&mut bytes);
        std::fs::write(&path, bytes).unwrap();
        copied
    };
    let cut = "shard-00002-cut.rows";
    vec![
        change("short", cut, &|bytes| bytes.truncate(bytes.len() - 100)),
        change("long", cut, &|bytes| bytes.push(0)),
        change("flipped", cut, &|bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }),
        change("manifest", "manifest.json", &|bytes| bytes.push(b' ')),
        change("secret", "secret", &|bytes| bytes[0] ^= 1),
        change("map", "map", &|bytes| bytes.push(0)),
    ]
}

fn copy(from: &Path, to: &Path) -> PathBuf {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    to.to_owned()
}

/// Begins a restore and kills it after a while. True if it was done before that.
async fn killed(nodes: &Nodes, backup: &Path, after: Duration) -> bool {
    let mut command = Command::new(escapement());
    command.args(["ctl", "--frontier", &nodes.addresses().join(","), "restore"]);
    let mut child = command
        .arg(backup)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    tokio::time::sleep(after).await;
    // It may have ended.
    let _ = child.kill();
    child.wait().unwrap().success()
}

fn url(n: usize) -> String {
    format!("http://w{}.example/{n}", n % 97)
}

async fn offer(talk: &Talk) {
    let links = (0..URLS).map(|n| talk.link(1, &url(n))).collect();
    let offered = talk
        .router
        .offer_within(links, Duration::from_secs(60))
        .await;
    assert!(offered.undelivered.is_empty());
}

/// URLs of all shards.
async fn count(talk: &Talk) -> u64 {
    let mut sum = 0;
    for shard in &talk.shards {
        let statuses = talk.statuses(*shard).await.into_iter();
        let newest = statuses.max_by_key(|status| status.applied_index);
        sum += newest
            .and_then(|status| status.terms)
            .map_or(0, |terms| terms.accepted);
    }
    sum
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A command of `ctl` with its exit code, and what it says.
fn ctl(nodes: &Nodes, code: i32, why: &str, words: &[&str]) -> Output {
    let frontier = nodes.addresses().join(",");
    let output = run(&[&["ctl", "--frontier", &frontier, "--json"], words].concat());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    assert!(said.contains(why), "{words:?}: {said}");
    output
}
