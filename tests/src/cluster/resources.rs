//! Nodes that are short of something: files, a place for their log.

use super::{Nodes, Talk};
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

/// A connection that asks for nothing has been ended by then.
const PATIENCE: Duration = Duration::from_secs(40);

/// A node that is started by a shell.
fn by_shell(nodes: &Nodes, script: &str) -> Command {
    let plain = nodes.command(1);
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command.arg(plain.get_program()).args(plain.get_args());
    command
}

/// The device that the log goes to is full. A line that could not be written once made a task panic, and its shard took
/// nothing until the next start.
#[tokio::test]
async fn a_log_that_cannot_be_written_harms_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 1);
    let command = by_shell(&nodes, "exec \"$0\" \"$@\" 2> /dev/full");
    nodes.start_by(1, command);
    nodes.wait_ready().await.unwrap();
    let talk = Talk::connect(&nodes.addresses()).await;
    talk.wait_leaders().await.unwrap();
    assert!(nodes.process(1).ended().is_none());
    assert!(nodes.terminate_all().await[0].success());
}

/// Connections that never ask for anything once used up all files, and the node went round its accept loop for ever.
#[tokio::test]
async fn idle_connections_beyond_the_limit_of_files_deny_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 1);
    let command = by_shell(&nodes, "ulimit -n 160; exec \"$0\" \"$@\"");
    nodes.start_by(1, command);
    nodes.wait_ready().await.unwrap();
    let address: SocketAddr = nodes.addresses()[0].parse().unwrap();
    let idle: Vec<TcpStream> = (0..120)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    // Those that were let in are ended, those behind them too, and whoever asks comes in between.
    let talk = Talk::connect(&nodes.addresses()).await;
    talk.wait_leaders().await.unwrap();
    let mut first = &idle[0];
    first.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut bytes = [0; 64];
    let end = loop {
        match first.read(&mut bytes) {
            Ok(0) => break Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    assert!(end.is_ok(), "{end:?}");
    assert!(nodes.process(1).ended().is_none());
    drop(idle);
    assert!(nodes.terminate_all().await[0].success());
}
