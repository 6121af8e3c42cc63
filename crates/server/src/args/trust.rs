//! `pleach trust …` as people type it.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TrustArgs {
    /// Do not ask; for scripts that know what the files say
    #[arg(long)]
    pub yes: bool,
    #[command(subcommand)]
    pub command: Option<TrustCommand>,
}

#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// What you decided: path, hash, when
    Ls,
    /// Trust a file no longer, or all files of a directory
    Revoke { path: PathBuf },
}
