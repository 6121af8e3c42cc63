//! Authorization checks of the handlers: who may see, steer and write a run or a project. A caller who may not see
//! something gets 404; one who may see it and not change it gets 403. Roles themselves are the store's and the engine's.

use super::caller::Caller;
use super::problems::Problem;
use super::{ApiResult, AppState};
use axum::http::StatusCode;
use engine::batch::RunRow;
use engine::ids::{ProjectId, RunId};
use engine::role::Role;
use engine::workspace::Project;
use runtime::ports::Library;

/// A run this caller may see, or the same 404 as for one that does not exist.
pub async fn see_run(app: &AppState, caller: &Caller, id: RunId) -> ApiResult<RunRow> {
    app.store.run(&caller.scope(), id).await?.ok_or_else(|| Problem::not_found("run"))
}

/// A run this caller may steer.
pub async fn steer_run(app: &AppState, caller: &Caller, id: RunId) -> ApiResult<RunRow> {
    let run = see_run(app, caller, id).await?;
    match app.store.may_steer(&caller.scope(), id).await? {
        true => Ok(run),
        false => Err(viewer_only(
            "you may see this run and not steer it: that is for its owner and for editors of all of its projects; nothing was changed",
        )),
    }
}

/// A project this caller may read.
pub async fn read_project(app: &AppState, caller: &Caller, id: ProjectId) -> ApiResult<Project> {
    app.store.project(&caller.scope(), id).await?.ok_or_else(|| Problem::not_found("project"))
}

/// A project this caller may change, and what is in it.
pub async fn write_project(app: &AppState, caller: &Caller, id: ProjectId) -> ApiResult<Project> {
    let project = read_project(app, caller, id).await?;
    may_write(app, caller, id).await?;
    Ok(project)
}

/// The same for something that was seen already, by the project it is in.
pub async fn may_write(app: &AppState, caller: &Caller, project: ProjectId) -> ApiResult<()> {
    match app.store.may_write(&caller.scope(), project).await? {
        true => Ok(()),
        false => Err(viewer_only(
            "you are a viewer in this project: you may read it and not change it; nothing was changed. Its owners make people editors",
        )),
    }
}

/// A project whose members this caller decides on.
pub async fn own_project(app: &AppState, caller: &Caller, id: ProjectId) -> ApiResult<Project> {
    let project = read_project(app, caller, id).await?;
    match role_in(app, caller, id).await? {
        Some(Role::Owner) => Ok(project),
        _ => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "project_owner_only",
            "only owners of a project invite, change roles, remove others, and remove the project; nothing was changed",
        )),
    }
}

/// The caller's own role in a project that they may see.
pub async fn role_in(app: &AppState, caller: &Caller, project: ProjectId) -> ApiResult<Option<Role>> {
    Ok(roles_in(app, caller, &[project]).await?.pop().map(|(_, role)| role))
}

/// Of a subagent: the lesser of its own and its owner's.
pub async fn roles_in(app: &AppState, caller: &Caller, projects: &[ProjectId]) -> ApiResult<Vec<(ProjectId, Role)>> {
    let mut roles = app.store.roles(caller.id(), projects).await?;
    if let Some(agent) = &caller.agent {
        let owners = app.store.roles(agent.owner, projects).await?;
        let of_owner = |project: ProjectId| owners.iter().find(|(of, _)| *of == project).map(|(_, role)| *role);
        roles = roles.into_iter().filter_map(|(of, role)| Some((of, role.min(of_owner(of)?)))).collect();
    }
    Ok(roles)
}

fn viewer_only(detail: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "viewer_only", detail)
}
