//! `pleach token …` as people type it.

use super::age;
use clap::Subcommand;
use engine::ids::KeyId;

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// A new token, printed this once
    Create {
        /// Whose it will be; the acting person's own when left out
        handle: Option<String>,
        /// What it is for
        #[arg(long)]
        name: Option<String>,
        /// read, run or admin; each includes those before it
        #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',', default_value = "run")]
        scopes: Vec<String>,
        /// Only for this project and what is in it; repeat for several
        #[arg(long = "project", value_name = "ID")]
        projects: Vec<String>,
        /// When it ends: 90d, 12h, 30m
        #[arg(long, value_name = "AGE", value_parser = age)]
        expires: Option<std::time::Duration>,
    },
    /// Tokens and sessions, without their secrets
    Ls {
        /// Everybody's
        #[arg(long)]
        all: bool,
    },
    /// End a token at once, with the sessions opened with it
    Revoke {
        #[arg(required_unless_present = "all")]
        id: Option<KeyId>,
        /// Everybody's tokens and sessions: after a theft, or on a copy of the database
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
    /// A link that logs a browser in, once
    Link {
        /// What the browser may do: read, run or admin; each includes those before it
        #[arg(long, value_name = "SCOPE", value_parser = ["read", "run", "admin"], default_value = "run")]
        scope: String,
    },
}
