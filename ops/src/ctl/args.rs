//! The command line of `ctl`.

use super::backup::{BackupArgs, RestoreArgs};
use crate::duration;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `ctl`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Any node answers. Reads say which copy of the shard map they are from; changes go to the node that leads group 0.\n\
        Waits up to 30 s for a cluster that does not answer.\n\
        Exit code: 0 done; 1 refused, undone or failed, and the reason is on stderr; 2 the command line is wrong; \
        3 the cluster cannot answer now, or what was waited for takes longer: the outcome is unknown, and ctl jobs shows it."
)]
pub struct Args {
    /// gRPC addresses of the cluster's nodes, some or all.
    #[arg(long, value_delimiter = ',', value_name = "ADDRESS", required = true)]
    pub(super) frontier: Vec<String>,
    /// Print one JSON object instead of tables; hashes and 64-bit ids are hexadecimal strings.
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// The cluster's list of public suffixes, if it is not the one that this program ships.
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) suffix_list: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The cluster in a few numbers.
    Status,
    /// The nodes, with what each has and leads.
    Nodes,
    /// The shards, with their ranges, replicas and leaders; shard 0 is the cluster's own group.
    Shards,
    /// Changes of shape that are under way, and the newest that ended.
    Jobs(JobsArgs),
    /// Make two shards of one. There is no way back: shards are not joined again.
    Split(SplitArgs),
    /// Give a replica of one node to another.
    Move(MoveArgs),
    /// Empty a node that lives: all its replicas go to others. It stays draining until it leaves or is undrained.
    Drain(DrainArgs),
    /// Let a node have replicas again; a drain that is under way is undone.
    Undrain(NodeArgs),
    /// Empty a node that is dead and give it up: with the disk that it had it never comes back.
    Replace(ReplaceArgs),
    /// Take an empty node out of the cluster: with the disk that it has it never comes back.
    Leave(LeaveArgs),
    /// Say on which nodes a shard's replicas should be, or that the cluster chooses them.
    Pin(PinArgs),
    /// Say which node should lead a shard, from now on.
    PreferLeader(PreferArgs),
    /// Take a job back, where nothing of it can remain.
    CancelJob(CancelArgs),
    /// Ask a shard's leader to hand over to another node, once.
    TransferLeader(TransferArgs),
    /// Tell the map that a shard went on with one replica, by `escapement recover-unsafe`.
    Adopt(AdoptArgs),
    /// Copy every shard, the map and the identity, with its secret, into a directory, while the crawl goes on. Not the pages.
    Backup(BackupArgs),
    /// Fill a new, empty cluster of any shape with a backup. Run again after an interruption it goes on.
    Restore(RestoreArgs),
    #[command(flatten)]
    Data(super::data::Command),
}

/// Arguments of `adopt`.
#[derive(Debug, clap::Args)]
pub(super) struct AdoptArgs {
    /// The shard.
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) shard: u64,
    /// Yes, its other replicas are gone for good.
    #[arg(long)]
    pub(super) yes: bool,
}

/// Arguments of `jobs`.
#[derive(Debug, clap::Args)]
pub(super) struct JobsArgs {
    /// This job only.
    pub(super) job: Option<u64>,
}

/// Arguments of `split`.
#[derive(Debug, clap::Args)]
pub(super) struct SplitArgs {
    /// The shard.
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) shard: u64,
    #[command(flatten)]
    pub(super) point: Point,
    /// The shard's epoch as it was seen: refused if the shard has changed since.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) epoch: Option<u64>,
    #[command(flatten)]
    pub(super) wait: Wait,
}

/// Where to split.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Point {
    /// At this partition hash, up to 16 hexadecimal digits: the new shard begins with it.
    #[arg(long, value_name = "HASH", value_parser = hash)]
    pub(super) at: Option<u64>,
    /// At the middle of the shard's load, as its leader sees it.
    #[arg(long)]
    pub(super) middle: bool,
    /// So that the site of this host stands alone in a shard; this may take two jobs.
    #[arg(long, value_name = "HOST")]
    pub(super) around: Option<String>,
}

/// Arguments of `move`.
#[derive(Debug, clap::Args)]
pub(super) struct MoveArgs {
    /// The shard; 0: the cluster's own group.
    pub(super) shard: u64,
    /// The node that gives its replica away. None: the shard gets one more, if it has fewer than it should.
    #[arg(long, value_name = "NODE", value_parser = node())]
    pub(super) from: Option<u32>,
    /// The node that gets one.
    #[arg(long, value_name = "NODE", value_parser = node())]
    pub(super) to: u32,
    /// Pin the shard to the nodes that it is on then, so that placement does not undo it.
    #[arg(long)]
    pub(super) pin: bool,
    /// The shard's epoch as it was seen: refused if the shard has changed since.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) epoch: Option<u64>,
    #[command(flatten)]
    pub(super) wait: Wait,
}

/// Arguments of `drain`.
#[derive(Debug, clap::Args)]
pub(super) struct DrainArgs {
    /// The node.
    #[arg(value_parser = node())]
    pub(super) node: u32,
    #[command(flatten)]
    pub(super) wait: Wait,
}

/// A node.
#[derive(Debug, clap::Args)]
pub(super) struct NodeArgs {
    /// The node.
    #[arg(value_parser = node())]
    pub(super) node: u32,
}

/// Arguments of `replace`.
#[derive(Debug, clap::Args)]
pub(super) struct ReplaceArgs {
    /// The node.
    #[arg(value_parser = node())]
    pub(super) node: u32,
    /// It is dead, and what only it has is given up.
    #[arg(long, required = true)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) wait: Wait,
}

/// Arguments of `leave`.
#[derive(Debug, clap::Args)]
pub(super) struct LeaveArgs {
    /// The node.
    #[arg(value_parser = node())]
    pub(super) node: u32,
    /// It does not come back with its directory.
    #[arg(long, required = true)]
    pub(super) yes: bool,
}

/// Arguments of `pin`.
#[derive(Debug, clap::Args)]
pub(super) struct PinArgs {
    /// The shard; 0: the cluster's own group.
    pub(super) shard: u64,
    #[command(flatten)]
    pub(super) place: Place,
}

/// Where a shard should be.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Place {
    /// On these nodes.
    #[arg(long, value_name = "NODE", value_delimiter = ',', value_parser = node())]
    pub(super) nodes: Vec<u32>,
    /// Wherever the cluster puts it.
    #[arg(long)]
    pub(super) free: bool,
}

/// Arguments of `prefer-leader`.
#[derive(Debug, clap::Args)]
pub(super) struct PreferArgs {
    /// The shard; 0: the cluster's own group.
    pub(super) shard: u64,
    /// The node; 0: any.
    #[arg(value_parser = clap::value_parser!(u32).range(..=65_535))]
    pub(super) node: u32,
}

/// A node's number.
fn node() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=65_535)
}

/// Waiting for an end.
#[derive(Debug, clap::Args)]
pub(super) struct Wait {
    /// Wait until it is done or undone.
    #[arg(long)]
    pub(super) wait: bool,
    /// Wait so long at most.
    #[arg(long, default_value = "60s", value_parser = duration::parse_positive, requires = "wait")]
    pub(super) within: Duration,
}

/// Arguments of `cancel-job`.
#[derive(Debug, clap::Args)]
pub(super) struct CancelArgs {
    /// The job.
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) job: u64,
    /// Why, for those who read the list of jobs.
    #[arg(long, default_value = "cancelled by an operator")]
    pub(super) reason: String,
}

/// Arguments of `transfer-leader`.
#[derive(Debug, clap::Args)]
pub(super) struct TransferArgs {
    /// The shard; 0: the cluster's own group.
    pub(super) shard: u64,
    /// The node that should lead.
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub(super) node: u32,
    #[command(flatten)]
    pub(super) wait: Wait,
}

/// A partition hash.
fn hash(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hash = is_hex.then(|| u64::from_str_radix(digits, 16).ok());
    hash.flatten()
        .ok_or_else(|| "not up to 16 hexadecimal digits".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(words: &[&str]) -> Result<Args, String> {
        let all = ["ctl", "--frontier", "a:1,b:2"].iter().chain(words);
        let cli = Cli::try_parse_from(all).map_err(|error| error.to_string())?;
        Ok(cli.args)
    }

    #[test]
    fn a_hash_is_hexadecimal_with_or_without_its_prefix() {
        assert_eq!(hash("0x8000000000000000"), Ok(1 << 63));
        assert_eq!(hash("ffffffffffffffff"), Ok(u64::MAX));
        for wrong in ["", "0x", "10000000000000000", "+1", "-1", "g"] {
            assert!(hash(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_split_names_one_point() {
        let args = parsed(&[
            "split", "3", "--at", "10", "--wait", "--within", "5s", "--json",
        ]);
        let args = args.unwrap();
        assert!(args.json && args.frontier == ["a:1", "b:2"]);
        let Command::Split(split) = args.command else {
            panic!("{args:?}");
        };
        assert_eq!((split.shard, split.point.at), (3, Some(16)));
        for wrong in [
            &["split", "3"][..],
            &["split", "3", "--middle", "--at", "1"],
            &["split", "0", "--middle"],
            &["split", "3", "--middle", "--within", "5s"],
            &["transfer-leader", "3", "0"],
            &["split"],
        ] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
        assert!(parsed(&["split", "3", "--around", "docs.example.org"]).is_ok());
        assert!(parsed(&["transfer-leader", "0", "2"]).is_ok());
    }

    #[test]
    fn what_cannot_be_taken_back_needs_a_yes() {
        for (dangerous, more) in [("replace", &["--wait"][..]), ("leave", &[])] {
            assert!(parsed(&[dangerous, "3"]).is_err());
            assert!(parsed(&[&[dangerous, "3", "--yes"], more].concat()).is_ok());
        }
    }

    #[test]
    fn a_move_names_nodes_and_a_pin_one_kind_of_place() {
        let args = parsed(&["move", "0", "--from", "1", "--to", "4", "--pin"]);
        let Command::Move(moved) = args.unwrap().command else {
            panic!("another command");
        };
        assert_eq!((moved.shard, moved.from, moved.to), (0, Some(1), 4));
        assert!(moved.pin && !moved.wait.wait);
        for right in [
            &["move", "2", "--to", "4"][..],
            &["pin", "2", "--nodes", "1,2,4"],
            &["pin", "0", "--free"],
            &["prefer-leader", "2", "0"],
            &["drain", "3", "--wait", "--within", "9s"],
            &["undrain", "3"],
        ] {
            assert!(parsed(right).is_ok(), "{right:?}");
        }
        for wrong in [
            &["move", "2", "--from", "1"][..],
            &["move", "2", "--from", "0", "--to", "4"],
            &["pin", "2"],
            &["pin", "2", "--free", "--nodes", "1"],
            &["drain", "0"],
        ] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
    }
}
