//! Members of projects, their roles, and invitations. A membership begins when an invitation is accepted. This module
//! only stores roles; what a role allows is decided in `scope`.

mod sql;

pub(crate) use sql::{DELETE_INVITATIONS, INSERT_MEMBER};

use engine::ids::{ActorId, InvitationId, ProjectId};
use engine::role::Role;
use engine::time::Timestamp;
use engine::workspace::ActorRecord;
use serde::{Deserialize, Serialize};

/// The most members and invited people of one project. The server refuses further invitations, so the whole list always
/// fits into one answer.
pub const MOST_MEMBERS: usize = 1_000;
/// The most invitations of one person that are listed. The older ones appear after some of these are accepted or
/// declined.
pub const MOST_INVITATIONS: usize = 1_000;
/// The time in which an invitation can be accepted: thirty days in milliseconds.
pub const INVITATION_MS: i64 = 30 * 24 * 3_600_000;

/// A member of a project, or somebody who is invited to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    #[serde(flatten)]
    pub actor: ActorRecord,
    pub role: Role,
    /// True for somebody who has not accepted yet and so is not a member.
    pub invited: bool,
}

/// An open invitation as the invited person sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    pub id: InvitationId,
    pub project_id: ProjectId,
    pub project_title: String,
    pub role: Role,
    /// The handle of the person who invited.
    pub invited_by: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A new invitation. If the person has an open invitation to the project, that one gets the new role and the new end.
#[derive(Clone, Debug)]
pub struct NewInvitation {
    pub id: InvitationId,
    pub project: ProjectId,
    pub actor: ActorId,
    pub role: Role,
    pub invited_by: ActorRecord,
    /// The title of its notification.
    pub title: String,
    pub body: String,
    pub now: Timestamp,
}

impl NewInvitation {
    pub fn expires_at(&self) -> Timestamp {
        self.now.plus_ms(INVITATION_MS)
    }
}

/// The result of changing a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberChange {
    Done,
    NotMember,
    /// The project would have no owner left.
    LastOwner,
}
