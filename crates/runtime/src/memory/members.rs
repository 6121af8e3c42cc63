//! Members and invitations in memory.

use super::{Memory, State, page};
use crate::members::{
    INVITATION_BODY, INVITATION_KIND, Invitation, MOST_INVITATIONS, MOST_MEMBERS, Member, MemberChange, Members,
    NewInvitation,
};
use crate::ports::{Slice, StoreError};
use async_trait::async_trait;
use engine::actor::ActorKind;
use engine::batch::NotificationRow;
use engine::ids::{ActorId, InvitationId, ProjectId, RunId};
use engine::role::Role;
use engine::time::Timestamp;
use engine::workspace::ActorRecord;
use std::collections::BTreeSet;

/// An invitation that nobody settled yet.
#[derive(Clone)]
pub(super) struct Invited {
    pub project: ProjectId,
    pub actor: ActorId,
    role: Role,
    by: ActorId,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl State {
    /// With their notifications.
    pub(super) fn forget_invitations(&mut self, which: impl Fn(&Invited) -> bool) -> bool {
        let gone: Vec<InvitationId> =
            self.invitations.iter().filter(|(_, invited)| which(invited)).map(|(id, _)| *id).collect();
        for id in &gone {
            self.invitations.remove(id);
            self.notifications.remove(&(RunId(id.0), 0));
        }
        !gone.is_empty()
    }

    fn open_invitations(&self, now: Timestamp) -> impl Iterator<Item = (&InvitationId, &Invited)> {
        self.invitations.iter().filter(move |(_, invited)| now < invited.expires_at)
    }

    fn subagents_of(&self, owner: ActorId) -> Vec<ActorId> {
        self.agents.values().filter(|agent| agent.owner == owner).map(|agent| agent.id).collect()
    }

    fn is_person(&self, actor: ActorId) -> bool {
        self.actors.get(&actor).is_some_and(|actor| actor.kind == ActorKind::Person)
    }

    fn is_last_owner(&self, project: ProjectId, actor: ActorId) -> bool {
        let owners = self.members.iter().filter(|((of, _), role)| *of == project && **role == Role::Owner);
        let people: Vec<ActorId> =
            owners.map(|((_, owner), _)| *owner).filter(|owner| self.is_person(*owner)).collect();
        people == [actor]
    }

    fn settled(&mut self, of: ActorId, id: InvitationId, now: Timestamp) -> Option<Invited> {
        let open = |invited: &&Invited| invited.actor == of && now < invited.expires_at;
        let invited = self.invitations.get(&id).filter(open).cloned()?;
        self.invitations.remove(&id);
        self.notifications.remove(&(RunId(id.0), 0));
        Some(invited)
    }
}

#[async_trait]
impl Members for Memory {
    async fn members(&self, project: ProjectId, now: Timestamp) -> Result<Vec<Member>, StoreError> {
        let state = self.state();
        let member = |actor: ActorId, role: Role, invited: bool| {
            state.actors.get(&actor).map(|actor| Member { actor: actor.clone(), role, invited })
        };
        let members = state.members.iter().filter(|((of, _), _)| *of == project);
        let mut all: Vec<Member> = members.filter_map(|((_, actor), role)| member(*actor, *role, false)).collect();
        let open = state.open_invitations(now).filter(|(_, invited)| invited.project == project);
        all.extend(open.filter_map(|(_, invited)| member(invited.actor, invited.role, true)));
        all.sort_by_key(|member| (member.invited, member.actor.id));
        all.truncate(MOST_MEMBERS);
        Ok(all)
    }

    async fn creator(&self, project: ProjectId) -> Result<Option<ActorId>, StoreError> {
        Ok(self.state().creators.get(&project).copied())
    }

    async fn roles(&self, actor: ActorId, projects: &[ProjectId]) -> Result<Vec<(ProjectId, Role)>, StoreError> {
        let state = self.state();
        let role = |project: &ProjectId| Some((*project, *state.members.get(&(*project, actor))?));
        Ok(projects.iter().filter_map(role).collect())
    }

    async fn set_role(&self, project: ProjectId, actor: ActorId, role: Role) -> Result<MemberChange, StoreError> {
        let mut state = self.state();
        if !state.members.contains_key(&(project, actor)) {
            return Ok(MemberChange::NotMember);
        }
        if role < Role::Owner && state.is_last_owner(project, actor) {
            return Ok(MemberChange::LastOwner);
        }
        state.members.insert((project, actor), role);
        for agent in state.subagents_of(actor) {
            if let Some(had) = state.members.get_mut(&(project, agent)) {
                *had = role.min(*had);
            }
        }
        Ok(MemberChange::Done)
    }

    async fn remove_member(&self, project: ProjectId, actor: ActorId) -> Result<MemberChange, StoreError> {
        let mut state = self.state();
        if state.is_last_owner(project, actor) {
            return Ok(MemberChange::LastOwner);
        }
        if state.members.remove(&(project, actor)).is_none() {
            return Ok(MemberChange::NotMember);
        }
        for agent in state.subagents_of(actor) {
            state.members.remove(&(project, agent));
        }
        Ok(MemberChange::Done)
    }

    async fn invite(&self, new: NewInvitation) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.members.contains_key(&(new.project, new.actor)) {
            return Ok(());
        }
        let known = state
            .invitations
            .iter_mut()
            .find(|(_, invited)| invited.project == new.project && invited.actor == new.actor);
        if let Some((_, invited)) = known {
            (invited.role, invited.by, invited.expires_at) = (new.role, new.invited_by.id, new.expires_at());
            return Ok(());
        }
        let invited = Invited {
            project: new.project,
            actor: new.actor,
            role: new.role,
            by: new.invited_by.id,
            created_at: new.now,
            expires_at: new.expires_at(),
        };
        let notice = NotificationRow {
            run_id: RunId(new.id.0),
            seq: 0,
            owner: new.actor,
            kind: INVITATION_KIND.into(),
            title: new.headline(),
            body: INVITATION_BODY.into(),
            question_id: None,
            at: new.now,
        };
        state.invitations.insert(new.id, invited);
        state.notifications.insert((notice.run_id, notice.seq), notice);
        Ok(())
    }

    async fn withdraw(&self, project: ProjectId, actor: ActorId, now: Timestamp) -> Result<bool, StoreError> {
        let mut state = self.state();
        let open = state.open_invitations(now).any(|(_, invited)| invited.project == project && invited.actor == actor);
        state.forget_invitations(|invited| invited.project == project && invited.actor == actor);
        Ok(open)
    }

    async fn invitations(&self, of: ActorId, now: Timestamp) -> Result<Vec<Invitation>, StoreError> {
        let state = self.state();
        let open = state.open_invitations(now).filter(|(_, invited)| invited.actor == of);
        let shown = open.filter_map(|(id, invited)| {
            Some(Invitation {
                id: *id,
                project_id: invited.project,
                project_title: state.workspace.projects.get(&invited.project)?.entity.title.clone(),
                role: invited.role,
                invited_by: state.actors.get(&invited.by)?.handle.clone(),
                created_at: invited.created_at,
                expires_at: invited.expires_at,
            })
        });
        let mut shown: Vec<Invitation> = shown.collect();
        shown.reverse();
        shown.truncate(MOST_INVITATIONS);
        Ok(shown)
    }

    async fn accept(&self, of: ActorId, invitation: InvitationId, now: Timestamp) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(invited) = state.settled(of, invitation, now) else { return Ok(false) };
        state.members.entry((invited.project, of)).or_insert(invited.role);
        Ok(true)
    }

    async fn decline(&self, of: ActorId, invitation: InvitationId, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.state().settled(of, invitation, now).is_some())
    }

    async fn acquaintances(
        &self,
        of: ActorId,
        slice: Slice<ActorId>,
        now: Timestamp,
    ) -> Result<Vec<ActorRecord>, StoreError> {
        let state = self.state();
        let shared: BTreeSet<ProjectId> =
            state.members.keys().filter(|(_, actor)| *actor == of).map(|(project, _)| *project).collect();
        let fellows = state.members.keys().filter(|(project, _)| shared.contains(project)).map(|(_, actor)| *actor);
        let inviting = state.open_invitations(now).flat_map(|(_, invited)| match of {
            _ if invited.by == of => Some(invited.actor),
            _ if invited.actor == of => Some(invited.by),
            _ => None,
        });
        let people: BTreeSet<ActorId> = fellows.chain(inviting).filter(|actor| state.is_person(*actor)).collect();
        let own: BTreeSet<ActorId> = state.subagents_of(of).into_iter().chain([of]).collect();
        let known = |actor: &&ActorRecord| people.contains(&actor.id) || own.contains(&actor.id);
        let behind = |actor: &&ActorRecord| slice.after.is_none_or(|after| actor.id > after);
        Ok(state.actors.values().filter(known).filter(behind).take(page(slice.limit)).cloned().collect())
    }
}
