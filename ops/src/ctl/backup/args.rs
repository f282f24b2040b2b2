//! The command lines of `backup` and `restore`.

use std::path::PathBuf;

/// Arguments of `backup`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct BackupArgs {
    /// A directory that is not there yet, or is empty. It will hold the cluster's secret: keep it as such.
    pub(super) dir: PathBuf,
}

/// Arguments of `restore`.
#[derive(Debug, clap::Args)]
pub(in crate::ctl) struct RestoreArgs {
    /// The directory of a backup.
    pub(super) dir: PathBuf,
    /// Only read the backup whole, and say whether it could be restored into this cluster.
    #[arg(long)]
    pub(super) check: bool,
}
