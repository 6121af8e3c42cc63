//! Authorization checks of the handlers: who may see, steer and write a run or a project. A caller who may not see
//! something gets 404; one who may see it and not change it gets 403. Roles themselves are the store's and the engine's.

use super::prelude::*;
use engine::batch::RunRow;
use engine::ids::{ProjectId, RunId};
use engine::member_role::MemberRole;
use engine::workspace::Project;

/// A run this caller may see, or the same 404 as for one that does not exist.
pub(super) async fn see_run(app: &AppState, caller: &Caller, id: RunId) -> ApiResult<RunRow> {
    app.store.run(&caller.scope(), id).await?.ok_or_else(|| Problem::not_found("run"))
}

/// A run this caller may steer.
pub(super) async fn steer_run(app: &AppState, caller: &Caller, id: RunId) -> ApiResult<RunRow> {
    let run = see_run(app, caller, id).await?;
    match app.store.may_steer(&caller.scope(), id).await? {
        true => Ok(run),
        false => Err(viewer_only(
            "you may see this run but not steer it; nothing was changed. Its owner and editors of all of its projects may steer it",
        )),
    }
}

/// A project this caller may read.
pub(super) async fn read_project(app: &AppState, caller: &Caller, id: ProjectId) -> ApiResult<Project> {
    app.store.project(&caller.scope(), id).await?.ok_or_else(|| Problem::not_found("project"))
}

/// A project in which this caller may change things.
pub(super) async fn write_project(app: &AppState, caller: &Caller, id: ProjectId) -> ApiResult<Project> {
    let project = read_project(app, caller, id).await?;
    may_write(app, caller, id).await?;
    Ok(project)
}

/// The same check for an entity that was read already, by its project.
pub(super) async fn may_write(app: &AppState, caller: &Caller, project: ProjectId) -> ApiResult<()> {
    match app.store.may_write(&caller.scope(), project).await? {
        true => Ok(()),
        false => Err(viewer_only(
            "you are a viewer in this project and cannot change it; nothing was changed. Ask one of its owners to make you an editor",
        )),
    }
}

/// A project that this caller owns.
pub(super) async fn own_project(app: &AppState, caller: &Caller, id: ProjectId) -> ApiResult<Project> {
    let project = read_project(app, caller, id).await?;
    match role_in(app, caller, id).await? {
        Some(MemberRole::Owner) => Ok(project),
        _ => Err(Problem::forbidden(
            "project_owner_only",
            "only owners of a project may invite or remove people, change roles, or remove the project; nothing was changed",
        )),
    }
}

/// The caller's role in a project.
pub(super) async fn role_in(app: &AppState, caller: &Caller, project: ProjectId) -> ApiResult<Option<MemberRole>> {
    Ok(roles_in(app, caller, &[project]).await?.pop().map(|(_, role)| role))
}

/// The caller's roles in these projects. A subagent has the lesser of its own role and its owner's.
pub(super) async fn roles_in(
    app: &AppState,
    caller: &Caller,
    projects: &[ProjectId],
) -> ApiResult<Vec<(ProjectId, MemberRole)>> {
    let mut roles = app.store.roles(caller.id(), projects).await?;
    if let Some(agent) = &caller.agent {
        let owners = app.store.roles(agent.owner, projects).await?;
        let of_owner = |project: ProjectId| owners.iter().find(|(of, _)| *of == project).map(|(_, role)| *role);
        roles = roles.into_iter().filter_map(|(of, role)| Some((of, role.min(of_owner(of)?)))).collect();
    }
    Ok(roles)
}

fn viewer_only(detail: &str) -> Problem {
    Problem::forbidden("viewer_only", detail)
}
