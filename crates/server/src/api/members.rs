//! Routes for the members of a project. Its owners invite people, who become members when they accept; a subagent is added by
//! the person who owns it. What a role allows is decided in `access`.

use super::auth::{RequestSource, limit_rate};
use super::prelude::*;
use axum::Extension;
use engine::actor::ActorKind;
use engine::ids::{ActorId, ProjectId};
use engine::member_role::MemberRole;
use engine::workspace::Project;
use runtime::agents::AgentRecord;
use store::members::{MAX_MEMBERS_PER_PROJECT, Member, MemberChange, NewInvitation};

pub(super) fn routes() -> Vec<Route> {
    const ONE: &str = "/api/projects/{id}/members/{actor}";
    vec![
        Route::get("/api/projects/{id}/members", Read, "Who belongs to it, and who is invited", list)
            .returns(200, list_of(records::member())),
        Route::post("/api/projects/{id}/members", Run, "Invite a person, change a role, or bring your subagent", add)
            .body(form([("actor", text())], [("role", records::member_role())]))
            .returns(200, records::member())
            .personal(),
        Route::delete(ONE, Run, "Remove a member, leave, or withdraw an invitation", remove)
            .returns(200, records::member())
            .personal(),
    ]
}

async fn list(Context(app, caller): Context, Id(id): Id<ProjectId>) -> JsonResult<Vec<Member>> {
    access::read_project(&app, &caller, id).await?;
    Ok(Json(app.store.members(id, app.clock.now()).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMember {
    /// A handle or an id.
    actor: String,
    /// When absent, a member keeps their role and a new one becomes a viewer.
    role: Option<MemberRole>,
}

async fn add(
    Context(app, caller): Context,
    Extension(source): Extension<RequestSource>,
    Id(id): Id<ProjectId>,
    JsonBody(new): JsonBody<NewMember>,
) -> JsonResult<Member> {
    app.commands()?;
    let project = access::read_project(&app, &caller, id).await?;
    let members = app.store.members(id, app.clock.now()).await?;
    let full = members.len() >= MAX_MEMBERS_PER_PROJECT;
    let known = members.into_iter().find(|member| is_named(member, &new.actor));
    if full && known.is_none() {
        return Err(Problem::conflict(
            "project_crowded",
            format!(
                "this project has {MAX_MEMBERS_PER_PROJECT} members and invitations, which is the most; nobody was invited. Remove somebody first"
            ),
        ));
    }
    let role = new.role.or(known.as_ref().map(|member| member.role)).unwrap_or(MemberRole::Viewer);
    let own = app.store.agent(&new.actor).await?.filter(|agent| agent.owner == caller.id());
    if let Some(agent) = own {
        return add_own_agent(&app, &caller, id, agent, role).await;
    }
    access::own_project(&app, &caller, id).await?;
    match known {
        Some(member) if !member.invited => change_role(&app, &caller, id, member, role).await,
        Some(invited) => invite(&app, &caller, project, invited.actor.id, role).await,
        None => {
            // The answer reveals whether a person exists, so it is rate-limited.
            if source == RequestSource::Open {
                limit_rate(&app.origin.handles, &caller.id().to_string())?;
            }
            let known = app.store.actor(&new.actor).await?.filter(|actor| actor.kind == ActorKind::Person);
            let person = known.ok_or_else(|| Problem::unknown("actor", &new.actor))?;
            invite(&app, &caller, project, person.id, role).await
        }
    }
}

/// A member or somebody invited, by handle or id.
async fn named(app: &AppState, project: ProjectId, name: &str) -> ApiResult<Option<Member>> {
    let members = app.store.members(project, app.clock.now()).await?;
    Ok(members.into_iter().find(|member| is_named(member, name)))
}

fn is_named(member: &Member, name: &str) -> bool {
    member.actor.handle == name || member.actor.id.to_string() == name
}

/// The member after a change.
async fn reload(app: &AppState, project: ProjectId, actor: ActorId) -> JsonResult<Member> {
    let member = named(app, project, &actor.to_string()).await?;
    member.map(Json).ok_or_else(|| Problem::not_found("member"))
}

/// Adds a subagent of the caller at once, with at most the caller's own role.
async fn add_own_agent(
    app: &AppState,
    caller: &Caller,
    project: ProjectId,
    agent: AgentRecord,
    role: MemberRole,
) -> JsonResult<Member> {
    let own = access::role_in(app, caller, project).await?.ok_or_else(|| Problem::not_found("project"))?;
    app.store.grant(project, agent.id, role.min(own)).await?;
    app.store.set_role(project, agent.id, role.min(own)).await?;
    reload(app, project, agent.id).await
}

async fn invite(
    app: &AppState,
    caller: &Caller,
    project: Project,
    actor: ActorId,
    role: MemberRole,
) -> JsonResult<Member> {
    let new = NewInvitation {
        id: app.mint(),
        project: project.id,
        actor,
        role,
        title: format!("{} invites you to the project {}", caller.record.handle, project.title),
        body: "accept or decline it: pleach invitations".into(),
        invited_by: caller.record.clone(),
        now: app.clock.now(),
    };
    app.store.invite(new).await?;
    reload(app, project.id, actor).await
}

async fn change_role(
    app: &AppState,
    caller: &Caller,
    project: ProjectId,
    member: Member,
    role: MemberRole,
) -> JsonResult<Member> {
    let actor = member.actor.id;
    if role < member.role {
        check_not_creator(app, caller, project, &member).await?;
    }
    let role = match member.actor.kind {
        ActorKind::Person => role,
        ActorKind::Subagent => role.min(owner_role(app, project, actor).await?),
    };
    check_change(app.store.set_role(project, actor, role).await?, &member)?;
    reload(app, project, actor).await
}

/// The role of a subagent's owner in the project.
async fn owner_role(app: &AppState, project: ProjectId, agent: ActorId) -> ApiResult<MemberRole> {
    let agent = app.store.agent(&agent.to_string()).await?.ok_or_else(|| Problem::not_found("member"))?;
    Ok(app.store.roles(agent.owner, &[project]).await?.pop().map_or(MemberRole::Viewer, |(_, role)| role))
}

async fn remove(Context(app, caller): Context, Path((project, name)): Path<(String, String)>) -> JsonResult<Member> {
    app.commands()?;
    let project: ProjectId = project.parse().map_err(|_| Problem::not_found("project"))?;
    access::read_project(&app, &caller, project).await?;
    let Some(member) = named(&app, project, &name).await? else {
        return Err(Problem::missing(
            "member",
            format!(
                "{name} is neither a member of this project nor invited to it; nothing was changed. `pleach project members` lists who is"
            ),
        ));
    };
    if !is_own(&app, &caller, &member).await? {
        access::own_project(&app, &caller, project).await?;
        check_not_creator(&app, &caller, project, &member).await?;
    }
    let actor = member.actor.id;
    match member.invited {
        true => drop(app.store.withdraw(project, actor, app.clock.now()).await?),
        false => check_change(app.store.remove_member(project, actor).await?, &member)?,
    }
    Ok(Json(member))
}

/// The caller or one of their subagents, who may leave whatever the caller's role is.
async fn is_own(app: &AppState, caller: &Caller, member: &Member) -> ApiResult<bool> {
    let agent = app.store.agent(&member.actor.id.to_string()).await?;
    Ok(member.actor.id == caller.id() || agent.is_some_and(|agent| agent.owner == caller.id()))
}

/// Only the creator of a project can remove or demote the creator.
async fn check_not_creator(app: &AppState, caller: &Caller, project: ProjectId, member: &Member) -> ApiResult<()> {
    let is_creator = app.store.creator(project).await? == Some(member.actor.id);
    match is_creator && member.actor.id != caller.id() {
        true => Err(Problem::conflict(
            "creator_stays",
            format!(
                "{} created this project, so only they can leave it or lower their role; nothing was changed",
                member.actor.handle
            ),
        )),
        false => Ok(()),
    }
}

fn check_change(change: MemberChange, member: &Member) -> ApiResult<()> {
    match change {
        MemberChange::Done => Ok(()),
        MemberChange::NotMember => Err(Problem::not_found("member")),
        MemberChange::LastOwner => Err(Problem::conflict(
            "last_owner",
            format!(
                "{} is the last owner of this project; nothing was changed. Make somebody else an owner first \
                 (`pleach project grant PROJECT HANDLE --role owner`), or remove the project",
                member.actor.handle
            ),
        )),
    }
}
