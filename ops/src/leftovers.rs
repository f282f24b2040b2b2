//! What runs leave behind that were killed with SIGKILL: directories in the temporary folder, and what is mounted in them.
//! Each names the process it belongs to, so the next run knows what nobody needs any more. Processes end by themselves.

use crate::output;
use rustix::process::{Pid, geteuid, test_kill_process};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Begins the name of every directory of a run; the process id follows.
const PREFIX: &str = "escapement-";

/// The name of a run's directory; `-` and more may follow.
pub fn directory_name() -> String {
    format!("{PREFIX}{}", std::process::id())
}

/// Removes the directories in `base` that belong to processes that have ended.
pub fn sweep_directories(base: &Path) {
    for dir in directories(base, is_gone) {
        unmount_below(&dir);
        if std::fs::remove_dir_all(&dir).is_ok() {
            output::note(format_args!(
                "escapement: removed {}, which a killed run left",
                dir.display()
            ));
        }
    }
}

/// Whether no process has this id.
pub fn is_gone(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_none_or(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// The number that a name has after a prefix, and what follows it.
pub fn owner<'a>(name: &'a str, prefix: &str) -> Option<(u32, &'a str)> {
    let rest = name.strip_prefix(prefix)?;
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    Some((rest[..digits].parse().ok()?, &rest[digits..]))
}

/// Real directories of this user, and no links, whose process is gone.
fn directories(base: &Path, is_gone: impl Fn(u32) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(base) else {
        return Vec::new();
    };
    let ours = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| owner(name, PREFIX));
        let is_left = owner
            .is_some_and(|(pid, rest)| (rest.is_empty() || rest.starts_with('-')) && is_gone(pid));
        is_left
            && entry
                .metadata()
                .is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw())
    });
    ours.map(|entry| entry.path()).collect()
}

/// Lazily: whatever still holds a file there shall not keep it.
fn unmount_below(dir: &Path) {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for place in mounts.lines().filter_map(|line| line.split(' ').nth(1)) {
        if Path::new(OsStr::new(place)).starts_with(dir) {
            // What cannot be unmounted is seen when the directory cannot be removed.
            let _ = Command::new("umount")
                .args(["-l", place])
                .stdin(Stdio::null())
                .output();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_belongs_to_the_living_or_to_nobody_stays() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let dead = format!("{PREFIX}{}", gone.id());
        let bench = format!("{dead}-x7");
        for name in [
            &dead,
            &bench,
            &directory_name(),
            "escapement-",
            "escapement-7x",
            "other-7",
        ] {
            fs::create_dir_all(at(name).join("node-1")).unwrap();
        }
        // A link leads anywhere, a file is no directory of ours.
        let next = format!("{PREFIX}{}", u32::MAX);
        std::os::unix::fs::symlink(at("other-7"), at(&next)).unwrap();
        sweep_directories(base.path());
        assert!(!at(&dead).exists() && !at(&bench).exists());
        for name in [
            &directory_name(),
            "escapement-",
            "escapement-7x",
            "other-7",
            &next,
        ] {
            assert!(at(name).join("node-1").exists(), "{name}");
        }
    }

    #[test]
    fn a_name_tells_its_owner() {
        assert_eq!(owner("esc417b", "esc"), Some((417, "b")));
        assert_eq!(owner("escort", "esc"), None);
        assert_eq!(owner("eth0", "esc"), None);
        assert!(!is_gone(std::process::id()));
    }
}
