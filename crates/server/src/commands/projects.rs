//! `pleach project` and `pleach actor`.

use super::{Session, members};
use crate::args::{ActorCommand, ProjectCommand};
use crate::failure::Failure;
use crate::render::style::line;
use engine::workspace::{ActorRecord, Project};
use serde_json::json;

pub(crate) async fn project(session: &Session, command: ProjectCommand) -> Result<u8, Failure> {
    let print = |project: &Project| {
        session.print_value(project, &format!("{}  {}", project.id, line(&project.title)));
    };
    match command {
        ProjectCommand::Ls => session.list("/api/projects?limit=200").await?.iter().for_each(print),
        ProjectCommand::Create { title, description } => {
            print(&session.post("/api/projects", &json!({"title": title, "description": description})).await?);
        }
        ProjectCommand::Grant { project, member, role } => {
            return members::grant(session, project, &member, role).await;
        }
        ProjectCommand::Revoke { project, member } => return members::revoke(session, project, &member).await,
        ProjectCommand::Members { project } => return members::list(session, project).await,
    }
    Ok(0)
}

pub(crate) async fn actor(session: &Session, command: ActorCommand) -> Result<u8, Failure> {
    let print = |actor: &ActorRecord| {
        session.print_value(actor, &format!("{}  {:<20}  {}", actor.id, actor.handle, line(&actor.name)));
    };
    match command {
        ActorCommand::Ls => session.list("/api/actors?limit=200").await?.iter().for_each(print),
        ActorCommand::Create { handle, name } => {
            print(&session.post("/api/actors", &json!({"handle": handle, "name": name})).await?);
        }
    }
    Ok(0)
}
