//! `pleach project` and `pleach actor`.

use super::{Session, closing, every, members, print};
use crate::args::{ActorCommand, ProjectCommand};
use crate::failure::Failure;
use crate::render::style::line;
use engine::workspace::{ActorRecord, Project};
use serde_json::json;

pub async fn project(session: &Session, command: ProjectCommand) -> Result<u8, Failure> {
    match command {
        ProjectCommand::Ls => list_projects(session).await,
        ProjectCommand::Create { title, description } => {
            let attached = session.writer().await?;
            let created = attached
                .client
                .post::<Project>("/api/projects", &json!({"title": title, "description": description}))
                .await;
            let project = closing(attached, created).await?;
            print_project(session, &project);
            Ok(0)
        }
        ProjectCommand::Grant { project, member, role } => members::grant(session, project, &member, role).await,
        ProjectCommand::Revoke { project, member } => members::revoke(session, project, &member).await,
        ProjectCommand::Members { project } => members::list(session, project).await,
    }
}

async fn list_projects(session: &Session) -> Result<u8, Failure> {
    let Some(reader) = session.reader().await? else { return Ok(0) };
    let projects: Vec<Project> = every(&reader.client, "/api/projects?limit=200").await?;
    reader.close().await;
    projects.iter().for_each(|project| print_project(session, project));
    Ok(0)
}

fn print_project(session: &Session, project: &Project) {
    if session.json { session.print_json(project) } else { print(&format!("{}  {}", project.id, line(&project.title))) }
}

pub async fn actor(session: &Session, command: ActorCommand) -> Result<u8, Failure> {
    match command {
        ActorCommand::Ls => {
            let Some(reader) = session.reader().await? else { return Ok(0) };
            let actors: Vec<ActorRecord> = every(&reader.client, "/api/actors?limit=200").await?;
            reader.close().await;
            actors.iter().for_each(|actor| {
                print_actor(session, actor, &format!("{}  {:<20}  {}", actor.id, actor.handle, line(&actor.name)))
            });
        }
        ActorCommand::Create { handle, name } => {
            let attached = session.writer().await?;
            let created =
                attached.client.post::<ActorRecord>("/api/actors", &json!({"handle": handle, "name": name})).await;
            let actor = closing(attached, created).await?;
            print_actor(session, &actor, &format!("{}  {}", actor.id, actor.handle));
        }
    }
    Ok(0)
}

fn print_actor(session: &Session, actor: &ActorRecord, sentence: &str) {
    if session.json { session.print_json(actor) } else { print(sentence) }
}
