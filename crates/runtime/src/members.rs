//! Who belongs to which project, in which role, and who is invited. Membership begins when an invitation is accepted.
//! What a role allows is decided where a `Scope` is judged; here roles are only kept.

use crate::ports::{Slice, StoreError};
use async_trait::async_trait;
use engine::ids::{ActorId, InvitationId, ProjectId};
use engine::role::Role;
use engine::time::Timestamp;
use engine::workspace::ActorRecord;
use serde::{Deserialize, Serialize};

/// Members of one project and people invited to it. Nobody is invited beyond it, so that the whole list is always one answer.
pub const MOST_MEMBERS: usize = 1_000;
/// Of one person, shown at once. With more, some are settled before the others are seen.
pub const MOST_INVITATIONS: usize = 1_000;
/// Milliseconds for which an invitation can be accepted: thirty days.
pub const INVITATION_MS: i64 = 30 * 24 * 3_600_000;

/// The kind of the notification that an invitation is announced by.
pub const INVITATION_KIND: &str = "invitation";

/// Somebody in a project, or invited to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    #[serde(flatten)]
    pub actor: ActorRecord,
    pub role: Role,
    /// Has not accepted yet: no member.
    pub invited: bool,
}

/// An open invitation as the invited person sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    pub id: InvitationId,
    pub project_id: ProjectId,
    pub project_title: String,
    pub role: Role,
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
    pub role: Role,
    pub invited_by: ActorRecord,
    pub project_title: String,
    pub now: Timestamp,
}

impl NewInvitation {
    pub fn expires_at(&self) -> Timestamp {
        self.now.plus_ms(INVITATION_MS)
    }

    /// The title of its notification.
    pub fn headline(&self) -> String {
        format!("{} invites you to the project {}", self.invited_by.handle, self.project_title)
    }
}

/// What the notification of an invitation says beyond its title.
pub const INVITATION_BODY: &str = "accept or decline it: pleach invitations";

/// What came of changing a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberChange {
    Done,
    NotMember,
    /// The project would have no owner left.
    LastOwner,
}

#[async_trait]
pub trait Members: Send + Sync + 'static {
    /// The members of a project in the order of their ids, then those whose invitation is open.
    async fn members(&self, project: ProjectId, now: Timestamp) -> Result<Vec<Member>, StoreError>;
    /// Who made the project; only they themselves end their membership.
    async fn creator(&self, project: ProjectId) -> Result<Option<ActorId>, StoreError>;
    /// The actor's role in those of the projects that they are a member of.
    async fn roles(&self, actor: ActorId, projects: &[ProjectId]) -> Result<Vec<(ProjectId, Role)>, StoreError>;
    /// Changes the role of a member; their subagents keep at most that. The last owner stays one.
    async fn set_role(&self, project: ProjectId, actor: ActorId, role: Role) -> Result<MemberChange, StoreError>;
    /// Ends a membership, and those of the member's subagents in the same project. The last owner stays.
    async fn remove_member(&self, project: ProjectId, actor: ActorId) -> Result<MemberChange, StoreError>;

    /// With its notification. Nothing happens when the person is a member already.
    async fn invite(&self, new: NewInvitation) -> Result<(), StoreError>;
    /// True when there was an open one.
    async fn withdraw(&self, project: ProjectId, actor: ActorId, now: Timestamp) -> Result<bool, StoreError>;
    /// The open invitations of a person, newest first, at most `MOST_INVITATIONS`.
    async fn invitations(&self, of: ActorId, now: Timestamp) -> Result<Vec<Invitation>, StoreError>;
    /// Membership begins. False when there is no such open invitation of theirs.
    async fn accept(&self, of: ActorId, invitation: InvitationId, now: Timestamp) -> Result<bool, StoreError>;
    async fn decline(&self, of: ActorId, invitation: InvitationId, now: Timestamp) -> Result<bool, StoreError>;

    /// The actor, their subagents, and the people they share a project or an open invitation with; oldest first.
    async fn acquaintances(
        &self,
        of: ActorId,
        slice: Slice<ActorId>,
        now: Timestamp,
    ) -> Result<Vec<ActorRecord>, StoreError>;
}
