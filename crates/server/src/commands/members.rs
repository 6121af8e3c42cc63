//! `pleach project members｜grant｜revoke` and `pleach invitations`: who belongs where.

use super::{Session, closing, encoded, every, note, print};
use crate::args::InvitationCommand;
use crate::failure::Failure;
use crate::render::style::line;
use engine::ids::ProjectId;
use engine::role::Role;
use serde_json::{Value, json};
use store::members::{Invitation, Member};

pub async fn list(session: &Session, project: ProjectId) -> Result<u8, Failure> {
    let Some(reader) = session.reader().await? else { return Ok(0) };
    let members = reader.client.get::<Vec<Member>>(&format!("/api/projects/{project}/members")).await;
    for member in closing(reader, members).await? {
        let standing = if member.invited { "  invited" } else { "" };
        let words = format!("{}  {:<20}  {:<6}{standing}", member.actor.id, member.actor.handle, member.role.name());
        print_member(session, &member, words.trim_end());
    }
    Ok(0)
}

pub async fn grant(session: &Session, project: ProjectId, name: &str, role: Option<Role>) -> Result<u8, Failure> {
    let mut asked = json!({"actor": name});
    if let Some(role) = role {
        asked["role"] = role.name().into();
    }
    let attached = session.writer().await?;
    let added = attached.client.post::<Member>(&format!("/api/projects/{project}/members"), &asked).await;
    let member = closing(attached, added).await?;
    let (handle, role) = (&member.actor.handle, member.role.name());
    let words = match member.invited {
        true => {
            format!("{handle} is invited to project {project} as {role}; it begins with `pleach invitations accept`")
        }
        false => format!("{handle} is {role} in project {project}"),
    };
    print_member(session, &member, &words);
    Ok(0)
}

pub async fn revoke(session: &Session, project: ProjectId, name: &str) -> Result<u8, Failure> {
    let attached = session.writer().await?;
    let removed = attached.client.delete::<Member>(&format!("/api/projects/{project}/members/{}", encoded(name))).await;
    let member = closing(attached, removed).await?;
    let handle = &member.actor.handle;
    let words = match member.invited {
        true => format!("{handle} is no longer invited to project {project}"),
        false => format!("{handle} may no longer see project {project}"),
    };
    print_member(session, &member, &words);
    Ok(0)
}

fn print_member(session: &Session, member: &Member, words: &str) {
    if session.json { session.print_json(member) } else { print(words) }
}

pub async fn invitations(session: &Session, command: Option<InvitationCommand>) -> Result<u8, Failure> {
    let (id, word) = match command {
        None => return open_invitations(session).await,
        Some(InvitationCommand::Accept { invitation }) => (invitation, "accept"),
        Some(InvitationCommand::Decline { invitation }) => (invitation, "decline"),
    };
    let attached = session.writer().await?;
    let settled = attached.client.post::<Invitation>(&format!("/api/invitations/{id}/{word}"), &Value::Null).await;
    let invitation = closing(attached, settled).await?;
    let title = line(&invitation.project_title);
    let words = match word {
        "accept" => format!("you are {} in project {}  {title}", invitation.role.name(), invitation.project_id),
        _ => format!("declined: {title}"),
    };
    print_invitation(session, &invitation, &words);
    Ok(0)
}

async fn open_invitations(session: &Session) -> Result<u8, Failure> {
    let Some(reader) = session.reader().await? else { return Ok(0) };
    let invitations: Vec<Invitation> = every(&reader.client, "/api/invitations").await?;
    reader.close().await;
    for invitation in &invitations {
        let Invitation { id, role, invited_by, project_title, .. } = invitation;
        print_invitation(
            session,
            invitation,
            &format!("{id}  {:<6}  {invited_by}  {}", role.name(), line(project_title)),
        );
    }
    if !invitations.is_empty() && !session.json {
        note("accept one with `pleach invitations accept ID`");
    }
    Ok(0)
}

fn print_invitation(session: &Session, invitation: &Invitation, words: &str) {
    if session.json { session.print_json(invitation) } else { print(words) }
}
