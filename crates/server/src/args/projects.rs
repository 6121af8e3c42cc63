//! `pleach project …` and `pleach invitations …` as people type them.

use clap::Subcommand;
use engine::ids::{InvitationId, ProjectId};
use engine::role::Role;

#[derive(Debug, Subcommand)]
pub enum ProjectCommand {
    /// A new project, owned by the acting person
    Create {
        title: String,
        #[arg(long, default_value = "")]
        description: String,
    },
    /// The projects the acting person may see
    Ls,
    /// Invite a person, change a member's role, or bring a subagent of your own
    Grant {
        project: ProjectId,
        member: String,
        /// viewer reads, editor writes and steers runs, owner invites too; viewer unless said
        #[arg(long, value_name = "ROLE", value_parser = role)]
        role: Option<Role>,
    },
    /// Remove a member, or withdraw an invitation; runs of theirs are refused at their next call
    Revoke { project: ProjectId, member: String },
    /// Who belongs to a project, in which role, and who is invited
    Members { project: ProjectId },
}

#[derive(Debug, Subcommand)]
pub enum InvitationCommand {
    /// Become a member
    Accept { invitation: InvitationId },
    /// Do not become one
    Decline { invitation: InvitationId },
}

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| format!("roles are {}", Role::ALL.map(Role::name).join(", ")))
}
