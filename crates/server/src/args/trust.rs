//! Arguments of `pleach trust`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TrustArgs {
    /// Trust without asking; for scripts
    #[arg(long)]
    pub yes: bool,
    #[command(subcommand)]
    pub command: Option<TrustCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// List your decisions: path, hash, time
    Ls,
    /// Stop trusting a file, or all files of a directory
    Revoke { path: PathBuf },
}
