//! Arguments of `pleach project` and `pleach invitations`.

use clap::Subcommand;
use engine::ids::{InvitationId, ProjectId};
use engine::member_role::MemberRole;

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// Create a project that you own
    Create {
        title: String,
        #[arg(long, default_value = "")]
        description: String,
    },
    /// List the projects you may see
    Ls,
    /// Invite a person, change a member's role, or add a subagent of yours
    Grant {
        project: ProjectId,
        /// Handle of the person or subagent
        member: String,
        /// viewer reads, editor also writes and steers runs, owner also invites; viewer by default
        #[arg(long, value_name = "ROLE", value_parser = role)]
        role: Option<MemberRole>,
    },
    /// Remove a member or withdraw an invitation; their runs are refused at the next call
    Revoke { project: ProjectId, member: String },
    /// List the members of a project, their roles, and open invitations
    Members { project: ProjectId },
}

#[derive(Debug, Subcommand)]
pub(crate) enum InvitationCommand {
    /// Accept an invitation and become a member
    Accept { invitation: InvitationId },
    /// Decline an invitation
    Decline { invitation: InvitationId },
}

fn role(text: &str) -> Result<MemberRole, String> {
    MemberRole::parse(text).ok_or_else(|| format!("roles are {}", MemberRole::ALL.map(MemberRole::name).join(", ")))
}
