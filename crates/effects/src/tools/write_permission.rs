//! Decides whether a call may write to the projects it changes. Tools decide what to change; this module checks the mutations
//! that a tool returned before anybody gets them.

use super::tool_context::ToolContext;
use super::{ActionError, refuse};
use engine::ids::{ActorId, ProjectId};
use engine::workspace::{Mutation, Scope};
use std::collections::BTreeSet;

/// How the refusal begins for a caller who may only read.
pub const VIEWER_ONLY: &str = "viewer_only: ";

/// The caller needs to be allowed to write to every project that the mutations touch.
pub(super) async fn check(context: &ToolContext<'_>, mutations: &[Mutation]) -> Result<(), ActionError> {
    let mut touched = BTreeSet::new();
    for mutation in mutations {
        touched.extend(project_of(context, mutation).await?);
    }
    for project in touched {
        if !may_write(context, project).await? {
            let title = context.project(project).await?.title;
            return refuse(format!(
                "{VIEWER_ONLY}project {title:?} ({project}) may only be read here, and nothing was changed. Write to another \
                 project, or ask an owner of this one to make you an editor"
            ));
        }
    }
    Ok(())
}

async fn project_of(context: &ToolContext<'_>, mutation: &Mutation) -> Result<Option<ProjectId>, ActionError> {
    Ok(match mutation {
        Mutation::UpdateProject { id, .. } => Some(*id),
        Mutation::CreateDocument { project_id, .. }
        | Mutation::CreateTask { project_id, .. }
        | Mutation::Link { project_id, .. } => Some(*project_id),
        Mutation::UpdateDocument { id, .. } => Some(context.document(*id).await?.project_id),
        Mutation::UpdateTask { id, .. } => Some(context.task(*id).await?.project_id),
        Mutation::Unlink { id } => Some(context.edge(*id).await?.project_id),
        // A new project belongs to its creator; the rest is a subagent's own memory.
        Mutation::CreateProject { .. }
        | Mutation::WriteScratchpad { .. }
        | Mutation::AddLesson { .. }
        | Mutation::PromoteLessons { .. }
        | Mutation::DismissLesson { .. } => None,
    })
}

/// A subagent in a part of a run needs the role itself too, except in the run's own workspace, which is open to all who work in
/// the run.
async fn may_write(context: &ToolContext<'_>, project: ProjectId) -> Result<bool, ActionError> {
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
        // The scope already contains the subagent's own role.
        Scope::OnBehalf { .. } | Scope::Platform => None,
    }
}
