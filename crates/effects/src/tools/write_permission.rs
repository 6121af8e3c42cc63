//! Decides whether a call may write to the projects it changes. It judges the mutations that a tool returned, before anybody
//! is given them: tools decide what to change, and only this module decides whether they may.

use super::Refused;
use super::tool_context::ToolContext;
use engine::ids::{ActorId, ProjectId};
use engine::workspace::{Mutation, Scope};
use std::collections::BTreeSet;

/// What the refusal of somebody who may only read begins with.
pub const VIEWER_ONLY: &str = "viewer_only: ";

/// Every project that the changes touch must be one that whoever calls may write to.
pub async fn check(context: &ToolContext<'_>, mutations: &[Mutation]) -> Result<(), Refused> {
    let mut touched = BTreeSet::new();
    for mutation in mutations {
        touched.extend(project_of(context, mutation).await?);
    }
    for project in touched {
        if !may_write(context, project).await? {
            let title = context.project(project).await?.title;
            return Err(Refused::Request(format!(
                "{VIEWER_ONLY}project {title:?} ({project}) may only be read here: a viewer changes nothing in it, and nothing was \
                 changed. Write to another project, or have an owner of the project make you an editor"
            )));
        }
    }
    Ok(())
}

async fn project_of(context: &ToolContext<'_>, mutation: &Mutation) -> Result<Option<ProjectId>, Refused> {
    Ok(match mutation {
        Mutation::UpdateProject { id, .. } => Some(*id),
        Mutation::CreateDocument { project_id, .. }
        | Mutation::CreateTask { project_id, .. }
        | Mutation::Link { project_id, .. } => Some(*project_id),
        Mutation::UpdateDocument { id, .. } => Some(context.document(*id).await?.project_id),
        Mutation::UpdateTask { id, .. } => Some(context.task(*id).await?.project_id),
        Mutation::Unlink { id } => Some(context.edge(*id).await?.project_id),
        // A new project is its maker's; the rest is a subagent's own memory.
        Mutation::CreateProject { .. }
        | Mutation::WriteScratchpad { .. }
        | Mutation::AddLesson { .. }
        | Mutation::PromoteLessons { .. }
        | Mutation::DismissLesson { .. } => None,
    })
}

/// A subagent within somebody's run needs the role itself too, but for the run's own workspace, which is of all who work in it.
async fn may_write(context: &ToolContext<'_>, project: ProjectId) -> Result<bool, Refused> {
    if !context.library.may_write(context.scope, project).await? {
        return Ok(false);
    }
    let own_workspace = project == context.run.home_project && !context.run.projects.contains(&project);
    match (context.agent(), owner(context.scope)) {
        (Some(agent), Some(owner)) if !own_workspace => {
            Ok(context.library.may_write(&Scope::OnBehalf { agent, owner }, project).await?)
        }
        _ => Ok(true),
    }
}

fn owner(scope: &Scope) -> Option<ActorId> {
    match scope {
        Scope::Actor(owner) | Scope::Within(owner, _) => Some(*owner),
        // Its own role was judged with the scope.
        Scope::OnBehalf { .. } | Scope::Platform => None,
    }
}
