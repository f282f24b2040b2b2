//! Starts that make no sense are refused by name, and SIGTERM is a clean end.

use super::{Nodes, Process, fetcher_command};
use crate::program::{fetcher, frontier_node, stderr};
use std::path::Path;
use std::process::{Command, Output};

/// Runs a program that must refuse to start.
fn refused(mut command: Command) -> String {
    let output: Output = command.output().unwrap();
    assert!(!output.status.success(), "{command:?}");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    stderr(&output)
}

fn node_in(dir: &Path) -> Command {
    let mut command = Command::new(frontier_node());
    command.arg("--dir").arg(dir);
    command
}

#[test]
fn nothing_listens_beyond_loopback_without_the_flag() {
    let dir = tempfile::tempdir().unwrap();
    for flags in [
        ["--listen", "0.0.0.0:0", "--http-listen", "127.0.0.1:0"],
        ["--listen", "127.0.0.1:0", "--http-listen", "[::]:0"],
    ] {
        let mut command = node_in(&dir.path().join("node"));
        command.args(flags);
        let why = refused(command);
        assert!(why.contains("is not a loopback address"), "{why}");
        assert!(why.contains("--allow-non-loopback must be given"), "{why}");
    }
    let mut command = Command::new(fetcher());
    command.args(["--frontier", "127.0.0.1:1", "--http-listen", "0.0.0.0:0"]);
    let why = refused(command);
    assert!(why.contains("is not a loopback address"), "{why}");
    assert!(why.contains("--allow-non-loopback must be given"), "{why}");
}

#[test]
fn a_wrong_key_in_a_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("settings.toml");
    std::fs::write(&file, "copise = 2\n").unwrap();
    for program in [frontier_node(), fetcher()] {
        let mut command = Command::new(program);
        command.arg("--config").arg(&file);
        let why = refused(command);
        assert!(why.contains("copise"), "{why}");
        assert!(why.contains("settings.toml"), "{why}");
    }
}

#[tokio::test]
async fn a_directory_has_one_node_and_sigterm_is_a_clean_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 1);
    nodes.start_ready().await.unwrap();
    let mut second = node_in(&nodes.dir(1));
    second.args(["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"]);
    let why = refused(second);
    assert!(why.contains("in use"), "{why}");
    assert!(nodes.process(1).ended().is_none(), "the first goes on");

    let web = std::net::SocketAddr::from(([127, 0, 0, 1], 9));
    let command = fetcher_command(&nodes.addresses(), web);
    let mut fetcher = Process::start(command, dir.path(), "fetcher");
    fetcher.wait_ready().await.unwrap();
    assert_eq!(fetcher.terminate().await.code(), Some(0));
    assert_eq!(nodes.terminate_all().await[0].code(), Some(0));
    // Its directory is whole: it starts again.
    nodes.start_ready().await.unwrap();
    assert_eq!(nodes.terminate_all().await[0].code(), Some(0));
}

#[tokio::test]
async fn a_node_with_another_suffix_list_is_refused_by_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("suffixes.dat");
    std::fs::write(&list, "com\nexample\n").unwrap();
    let mut nodes = Nodes::new(dir.path(), 3);
    nodes.start_ready().await.unwrap();
    nodes.kill(3);
    let with_list = |nodes: &Nodes| {
        let mut command = nodes.command(3);
        command.arg("--suffix-list").arg(&list);
        command
    };
    // Its own directory says so first ...
    let why = refused(with_list(&nodes));
    assert!(why.contains("suffix"), "{why}");
    // ... and without one, the others do.
    std::fs::remove_dir_all(nodes.dir(3)).unwrap();
    let why = refused(with_list(&nodes));
    assert!(why.contains("the suffix list of node"), "{why}");
    for number in [1, 2] {
        assert!(
            nodes.process(number).ended().is_none(),
            "node {number} goes on"
        );
    }
    // With the right list it is taken.
    nodes.start_ready().await.unwrap();
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}
