//! Who belongs to a project. People are invited by its owners and become members when they accept; a subagent is brought by
//! the person it belongs to. What a role allows is decided elsewhere (`access`).

use super::auth::{RequestSource, slow};
use super::caller::{Caller, Id, JsonBody};
use super::problems::Problem;
use super::route::Access::{Read, Run};
use super::route::Route;
use super::schema::{form, list as list_of, text};
use super::{ApiResult, AppState, access, records, runs};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use engine::actor::ActorKind;
use engine::ids::{ActorId, ProjectId};
use engine::role::Role;
use engine::workspace::Project;
use runtime::agents::AgentRecord;
use runtime::ports::Library;
use serde::Deserialize;
use std::sync::Arc;
use store::members::{MOST_MEMBERS, Member, MemberChange, NewInvitation};

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/projects/{id}/members", Read, "Who belongs to it, and who is invited", list)
            .gives(200, list_of(records::member())),
        Route::post("/api/projects/{id}/members", Run, "Invite a person, change a role, or bring your subagent", add)
            .takes(form([("actor", text())], [("role", records::member_role())]))
            .gives(200, records::member())
            .personal(),
        Route::delete(
            "/api/projects/{id}/members/{actor}",
            Run,
            "Remove a member, leave, or withdraw an invitation",
            remove,
        )
        .gives(200, records::member())
        .personal(),
    ]
}

async fn list(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<ProjectId>) -> ApiResult<Json<Vec<Member>>> {
    access::read_project(&app, &caller, id).await?;
    Ok(Json(app.store.members(id, app.clock.now()).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMember {
    /// A handle or an id.
    actor: String,
    /// Unsaid, whoever is there keeps theirs, and whoever is new is a viewer.
    role: Option<Role>,
}

async fn add(
    State(app): State<Arc<AppState>>,
    Extension(source): Extension<RequestSource>,
    caller: Caller,
    Id(id): Id<ProjectId>,
    JsonBody(new): JsonBody<NewMember>,
) -> ApiResult<Json<Member>> {
    app.commands()?;
    let project = access::read_project(&app, &caller, id).await?;
    let members = app.store.members(id, app.clock.now()).await?;
    let full = members.len() >= MOST_MEMBERS;
    let known = members.into_iter().find(|member| is_named(member, &new.actor));
    if full && known.is_none() {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "project_crowded",
            format!(
                "{MOST_MEMBERS} people and subagents belong to this project or are invited, which is the most; nobody was invited"
            ),
        ));
    }
    let asked = new.role.or(known.as_ref().map(|member| member.role)).unwrap_or(Role::Viewer);
    let own = app.store.agent(&new.actor).await?.filter(|agent| agent.owner == caller.id());
    if let Some(agent) = own {
        return bring(&app, &caller, id, agent, asked).await;
    }
    access::own_project(&app, &caller, id).await?;
    match known {
        Some(member) if !member.invited => change_role(&app, &caller, id, member, asked).await,
        Some(invited) => invite(&app, &caller, project, invited.actor.id, asked).await,
        None => {
            // Somebody who is not in the project: whoever asks learns whether they exist, so nobody asks fast.
            if source == RequestSource::Open {
                slow(&app.origin.handles, &caller.id().to_string())?;
            }
            let known = app.store.actor(&new.actor).await?.filter(|actor| actor.kind == ActorKind::Person);
            let person = known.ok_or_else(|| Problem::unknown("actor", &new.actor))?;
            invite(&app, &caller, project, person.id, asked).await
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

/// The same once more, after a change.
async fn standing(app: &AppState, project: ProjectId, actor: ActorId) -> ApiResult<Json<Member>> {
    let member = named(app, project, &actor.to_string()).await?;
    member.map(Json).ok_or_else(|| Problem::not_found("member"))
}

/// One's own subagent, at once, and never with more than one has oneself.
async fn bring(
    app: &AppState,
    caller: &Caller,
    project: ProjectId,
    agent: AgentRecord,
    asked: Role,
) -> ApiResult<Json<Member>> {
    let own = access::role_in(app, caller, project).await?.ok_or_else(|| Problem::not_found("project"))?;
    app.store.grant(project, agent.id, asked.min(own)).await?;
    app.store.set_role(project, agent.id, asked.min(own)).await?;
    standing(app, project, agent.id).await
}

async fn invite(
    app: &AppState,
    caller: &Caller,
    project: Project,
    actor: ActorId,
    role: Role,
) -> ApiResult<Json<Member>> {
    let new = NewInvitation {
        id: runs::mint(app),
        project: project.id,
        actor,
        role,
        title: format!("{} invites you to the project {}", caller.record.handle, project.title),
        body: "accept or decline it: pleach invitations".into(),
        invited_by: caller.record.clone(),
        now: app.clock.now(),
    };
    app.store.invite(new).await?;
    standing(app, project.id, actor).await
}

async fn change_role(
    app: &AppState,
    caller: &Caller,
    project: ProjectId,
    member: Member,
    role: Role,
) -> ApiResult<Json<Member>> {
    let actor = member.actor.id;
    if role < member.role {
        unless_creator(app, caller, project, &member).await?;
    }
    let role = match member.actor.kind {
        ActorKind::Person => role,
        ActorKind::Subagent => role.min(owners_role(app, project, actor).await?),
    };
    settled(app.store.set_role(project, actor, role).await?, &member)?;
    standing(app, project, actor).await
}

/// What the owner of a subagent is in the project.
async fn owners_role(app: &AppState, project: ProjectId, agent: ActorId) -> ApiResult<Role> {
    let agent = app.store.agent(&agent.to_string()).await?.ok_or_else(|| Problem::not_found("member"))?;
    Ok(app.store.roles(agent.owner, &[project]).await?.pop().map_or(Role::Viewer, |(_, role)| role))
}

async fn remove(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Path((project, name)): Path<(String, String)>,
) -> ApiResult<Json<Member>> {
    app.commands()?;
    let project: ProjectId = project.parse().map_err(|_| Problem::not_found("project"))?;
    access::read_project(&app, &caller, project).await?;
    let Some(member) = named(&app, project, &name).await? else {
        return Err(Problem::new(
            StatusCode::NOT_FOUND,
            "member_not_found",
            format!("{name} is neither a member of this project nor invited to it; nothing was changed"),
        ));
    };
    if !is_own(&app, &caller, &member).await? {
        access::own_project(&app, &caller, project).await?;
        unless_creator(&app, &caller, project, &member).await?;
    }
    let actor = member.actor.id;
    match member.invited {
        true => drop(app.store.withdraw(project, actor, app.clock.now()).await?),
        false => settled(app.store.remove_member(project, actor).await?, &member)?,
    }
    Ok(Json(member))
}

/// The caller, or a subagent of theirs: they may leave whatever their role is.
async fn is_own(app: &AppState, caller: &Caller, member: &Member) -> ApiResult<bool> {
    let agent = app.store.agent(&member.actor.id.to_string()).await?;
    Ok(member.actor.id == caller.id() || agent.is_some_and(|agent| agent.owner == caller.id()))
}

/// Nobody takes anything from whoever made the project but they themselves.
async fn unless_creator(app: &AppState, caller: &Caller, project: ProjectId, member: &Member) -> ApiResult<()> {
    let is_creator = app.store.creator(project).await? == Some(member.actor.id);
    match is_creator && member.actor.id != caller.id() {
        true => Err(Problem::new(
            StatusCode::CONFLICT,
            "creator_stays",
            format!(
                "{} made this project: only they themselves leave it or become less; nothing was changed",
                member.actor.handle
            ),
        )),
        false => Ok(()),
    }
}

fn settled(change: MemberChange, member: &Member) -> ApiResult<()> {
    match change {
        MemberChange::Done => Ok(()),
        MemberChange::NotMember => Err(Problem::not_found("member")),
        MemberChange::LastOwner => Err(Problem::new(
            StatusCode::CONFLICT,
            "last_owner",
            format!(
                "{} is the last owner of this project; nothing was changed. Make somebody else an owner first \
                 (`pleach project grant PROJECT HANDLE --role owner`), or remove the project",
                member.actor.handle
            ),
        )),
    }
}
