//! Who belongs to which project, in which role, and who is invited. Membership begins when an invitation is accepted.
//! What a role allows is decided where a `Scope` is judged; here roles are only kept.

mod sql;

pub(crate) use sql::{FORGET_INVITATIONS, MAKE_MEMBER};

use engine::ids::{ActorId, InvitationId, ProjectId};
use engine::member_role::MemberRole;
use engine::time::Timestamp;
use engine::workspace::ActorRecord;
use serde::{Deserialize, Serialize};

/// Members of one project and people invited to it. Nobody is invited beyond it, so that the whole list is always one answer.
pub const MAX_MEMBERS_PER_PROJECT: usize = 1_000;
/// Of one person, shown at once. With more, some are settled before the others are seen.
pub const MAX_INVITATIONS_LISTED: usize = 1_000;
/// Milliseconds for which an invitation can be accepted: thirty days.
pub const INVITATION_MS: i64 = 30 * 24 * 3_600_000;

/// Somebody in a project, or invited to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    #[serde(flatten)]
    pub actor: ActorRecord,
    pub role: MemberRole,
    /// Has not accepted yet: no member.
    pub invited: bool,
}

/// An open invitation as the invited person sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    pub id: InvitationId,
    pub project_id: ProjectId,
    pub project_title: String,
    pub role: MemberRole,
    /// The handle of whoever invited.
    pub invited_by: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// An invitation to be made. An open one of the same person to the same project takes its role and its time.
#[derive(Clone, Debug)]
pub struct NewInvitation {
    pub id: InvitationId,
    pub project: ProjectId,
    pub actor: ActorId,
    pub role: MemberRole,
    pub invited_by: ActorRecord,
    /// What its notification says.
    pub title: String,
    pub body: String,
    pub now: Timestamp,
}

impl NewInvitation {
    pub fn expires_at(&self) -> Timestamp {
        self.now.plus_ms(INVITATION_MS)
    }
}

/// What came of changing a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberChange {
    Done,
    NotMember,
    /// The project would have no owner left.
    LastOwner,
}
