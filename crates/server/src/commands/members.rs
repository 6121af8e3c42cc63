//! `pleach project members｜grant｜revoke` and `pleach invitations`: who belongs to which project.

use super::{Session, encoded, note};
use crate::args::InvitationCommand;
use crate::failure::Failure;
use crate::render::style::line;
use axum::http::Method;
use engine::ids::ProjectId;
use engine::member_role::MemberRole;
use serde_json::{Value, json};
use store::members::{Invitation, Member};

pub(crate) async fn list(session: &Session, project: ProjectId) -> Result<u8, Failure> {
    let members: Option<Vec<Member>> = session.get(&format!("/api/projects/{project}/members")).await?;
    for member in members.into_iter().flatten() {
        let invited = if member.invited { "  invited" } else { "" };
        let text = format!("{}  {:<20}  {:<6}{invited}", member.actor.id, member.actor.handle, member.role.name());
        session.print_value(&member, text.trim_end());
    }
    Ok(0)
}

pub(crate) async fn grant(
    session: &Session,
    project: ProjectId,
    name: &str,
    role: Option<MemberRole>,
) -> Result<u8, Failure> {
    let mut body = json!({"actor": name});
    if let Some(role) = role {
        body["role"] = role.name().into();
    }
    let member: Member = session.post(&format!("/api/projects/{project}/members"), &body).await?;
    let (handle, role) = (&member.actor.handle, member.role.name());
    let text = match member.invited {
        true => format!(
            "{handle} is invited to project {project} as {role} and becomes a member with `pleach invitations accept`"
        ),
        false => format!("{handle} is {role} in project {project}"),
    };
    session.print_value(&member, &text);
    Ok(0)
}

pub(crate) async fn revoke(session: &Session, project: ProjectId, name: &str) -> Result<u8, Failure> {
    let path = format!("/api/projects/{project}/members/{}", encoded(name));
    let member: Member = session.send(Method::DELETE, &path, &Value::Null).await?;
    let handle = &member.actor.handle;
    let text = match member.invited {
        true => format!("{handle} is no longer invited to project {project}"),
        false => format!("{handle} may no longer see project {project}"),
    };
    session.print_value(&member, &text);
    Ok(0)
}

pub(crate) async fn invitations(session: &Session, command: Option<InvitationCommand>) -> Result<u8, Failure> {
    let (id, action) = match command {
        None => return open_invitations(session).await,
        Some(InvitationCommand::Accept { invitation }) => (invitation, "accept"),
        Some(InvitationCommand::Decline { invitation }) => (invitation, "decline"),
    };
    let invitation: Invitation = session.post(&format!("/api/invitations/{id}/{action}"), &Value::Null).await?;
    let title = line(&invitation.project_title);
    let text = match action {
        "accept" => format!("you are {} in project {}  {title}", invitation.role.name(), invitation.project_id),
        _ => format!("declined: {title}"),
    };
    session.print_value(&invitation, &text);
    Ok(0)
}

async fn open_invitations(session: &Session) -> Result<u8, Failure> {
    let invitations: Vec<Invitation> = session.list("/api/invitations?limit=200").await?;
    for invitation in &invitations {
        let Invitation { id, role, invited_by, project_title, .. } = invitation;
        session.print_value(invitation, &format!("{id}  {:<6}  {invited_by}  {}", role.name(), line(project_title)));
    }
    if !invitations.is_empty() && !session.json {
        note("accept one with `pleach invitations accept ID`");
    }
    Ok(0)
}
