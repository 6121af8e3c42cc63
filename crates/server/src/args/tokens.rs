//! Arguments of `pleach token`.

use super::age;
use clap::Subcommand;
use engine::ids::CredentialId;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token; it is printed only once
    Create {
        /// Handle of the person or subagent it belongs to; you by default
        handle: Option<String>,
        /// What it is for
        #[arg(long)]
        name: Option<String>,
        /// read, run or admin; each includes those before it
        #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',', default_value = "run")]
        scopes: Vec<String>,
        /// Restrict it to a project; repeat for several
        #[arg(long = "project", value_name = "ID")]
        projects: Vec<String>,
        /// Expires after 90d, 12h, 30m; never by default
        #[arg(long, value_name = "AGE", value_parser = age)]
        expires: Option<std::time::Duration>,
    },
    /// List tokens and sessions, without their secrets
    Ls {
        /// Those of everybody, not only yours
        #[arg(long)]
        all: bool,
    },
    /// Revoke a token at once, with the sessions it opened
    Revoke {
        #[arg(required_unless_present = "all")]
        id: Option<CredentialId>,
        /// Revoke all tokens and sessions of everybody: after a theft, or on a copy of the database
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
    /// Create a link that logs a browser in once
    Link {
        /// What the browser may do: read, run or admin; each includes those before it
        #[arg(long, value_name = "SCOPE", value_parser = ["read", "run", "admin"], default_value = "run")]
        scope: String,
    },
}
