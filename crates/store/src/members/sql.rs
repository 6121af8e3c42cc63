//! The queries for members and invitations. Every change of membership first updates the project's row, which locks it.
//! So two changes cannot both see another owner and leave the project without one.

use super::{Invitation, MOST_INVITATIONS, MOST_MEMBERS, Member, MemberChange, NewInvitation};
use crate::backend::WriteError;
use crate::log::into_store_error;
use crate::notifications::INVITATION_KIND;
use crate::sql::{Guard, Query, Row, Statement, Value, id, page};
use crate::{SqlStore, StoreError, records, rows};
use engine::ids::{ActorId, InvitationId, ProjectId};
use engine::role::Role;
use engine::time::Timestamp;
use engine::workspace::ActorRecord;
use runtime::ports::Slice;
use std::borrow::Cow;

/// Parameters: `?1` project, `?2` actor, `?3` role.
pub(crate) const INSERT_MEMBER: &str =
    "INSERT INTO project_members (project_id, actor_id, role) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";

/// Deletes the invitations to the project `?1`, with their notifications.
pub(crate) const DELETE_INVITATIONS: [&str; 3] = [
    "DELETE FROM notification_reads WHERE seq = 0 AND run_id IN (SELECT id FROM project_invitations WHERE project_id = ?1)",
    "DELETE FROM notifications WHERE seq = 0 AND run_id IN (SELECT id FROM project_invitations WHERE project_id = ?1)",
    "DELETE FROM project_invitations WHERE project_id = ?1",
];

const ACTOR: &str = "a.id, a.kind, a.handle, a.name, a.created_at";
const INVITATION: &str = "SELECT i.id, i.project_id, p.title, i.role, b.handle, i.created_at, i.expires_at \
    FROM project_invitations i JOIN onto_projects p ON p.id = i.project_id JOIN actors b ON b.id = i.invited_by";

/// The project `?1` has an owner other than the actor `?2`.
const OTHER_OWNER: &str = "EXISTS (SELECT 1 FROM project_members o JOIN actors a ON a.id = o.actor_id \
    WHERE o.project_id = ?1 AND o.actor_id <> ?2 AND o.role = 'owner' AND a.kind = 'person')";
const SUBAGENTS: &str = "actor_id IN (SELECT g.id FROM agents g WHERE g.owner = ?2)";

const INVITE: &str = "INSERT INTO project_invitations (id, project_id, actor_id, role, invited_by, created_at, expires_at) \
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM project_members m WHERE m.project_id = ?2 AND m.actor_id = ?3) \
    ON CONFLICT (project_id, actor_id) DO UPDATE SET role = excluded.role, invited_by = excluded.invited_by, expires_at = excluded.expires_at";
/// The invitation may be an older one with a new role. It has one notification, whatever its role was.
const ANNOUNCE: &str = "INSERT INTO notifications (run_id, seq, owner, kind, title, body, at) \
    SELECT i.id, 0, i.actor_id, ?3, ?4, ?5, i.created_at FROM project_invitations i WHERE i.project_id = ?1 AND i.actor_id = ?2 \
    ON CONFLICT DO NOTHING";
const JOIN: &str = "INSERT INTO project_members (project_id, actor_id, role) \
    SELECT i.project_id, i.actor_id, i.role FROM project_invitations i WHERE i.id = ?1 AND i.actor_id = ?2 AND i.expires_at > ?3 \
    ON CONFLICT DO NOTHING";

/// Locks the project's row: changes of its members wait for each other here.
fn lock_project(project: ProjectId) -> Statement {
    let sql = "UPDATE onto_projects SET version = version WHERE id = ?1";
    Statement::new(sql, vec![id(project)]).guarded(Guard::Entity(project.0))
}

pub(crate) fn role(text: &str) -> Result<Role, StoreError> {
    Role::parse(text).ok_or_else(|| {
        StoreError::Unusable(format!("the database has the role {text}, which this version does not know"))
    })
}

fn member(row: &Row) -> Result<Member, StoreError> {
    Ok(Member { actor: records::actor(row)?, role: role(row.text(5)?)?, invited: row.int(6)? != 0 })
}

fn invitation(row: &Row) -> Result<Invitation, StoreError> {
    Ok(Invitation {
        id: row.parse(0)?,
        project_id: row.parse(1)?,
        project_title: row.text(2)?.to_owned(),
        role: role(row.text(3)?)?,
        invited_by: row.text(4)?.to_owned(),
        created_at: records::time(row, 5)?,
        expires_at: records::time(row, 6)?,
    })
}

/// Runs `first`, and if it touched a row deletes the invitation and its notification.
fn end_invitation(first: Statement, invitation: InvitationId) -> Vec<Statement> {
    let rest = [
        "DELETE FROM project_invitations WHERE id = ?1",
        "DELETE FROM notification_reads WHERE run_id = ?1 AND seq = 0",
        "DELETE FROM notifications WHERE run_id = ?1 AND seq = 0",
    ];
    let rest = rest.map(|sql| Statement::new(sql, vec![id(invitation)]));
    [first.guarded(Guard::Head)].into_iter().chain(rest).collect()
}

impl SqlStore {
    /// Runs the batch. False when a guarded statement touched no row.
    async fn change_members(&self, statements: Vec<Statement>) -> Result<bool, StoreError> {
        match self.backend.write(statements).await {
            Ok(_) => Ok(true),
            Err(WriteError::Refused(_)) => Ok(false),
            Err(error) => Err(into_store_error(error)),
        }
    }

    /// Changes one member. `first` has the parameters `?1` project and `?2` actor, and must not touch the last owner.
    async fn change_member(
        &self,
        project: ProjectId,
        actor: ActorId,
        first: impl Into<Cow<'static, str>>,
        rest: Vec<Statement>,
    ) -> Result<MemberChange, StoreError> {
        let first = Statement::new(first, vec![id(project), id(actor)]).guarded(Guard::Head);
        let statements = [lock_project(project), first].into_iter().chain(rest).collect();
        if self.change_members(statements).await? {
            return Ok(MemberChange::Done);
        }
        match self.roles(actor, &[project]).await?.is_empty() {
            true => Ok(MemberChange::NotMember),
            false => Ok(MemberChange::LastOwner),
        }
    }
}

impl SqlStore {
    /// The members of a project in the order of their ids, then the people with an open invitation.
    pub async fn members(&self, project: ProjectId, now: Timestamp) -> Result<Vec<Member>, StoreError> {
        let mut query = Query::new(format!(
            "SELECT {ACTOR}, m.role, CAST(0 AS BIGINT) AS invited FROM project_members m JOIN actors a ON a.id = m.actor_id WHERE m.project_id = "
        ));
        query.bind(id(project)).push(&format!(
            " UNION ALL SELECT {ACTOR}, i.role, CAST(1 AS BIGINT) AS invited FROM project_invitations i JOIN actors a ON a.id = i.actor_id WHERE i.project_id = "
        ));
        query
            .bind(id(project))
            .push(" AND i.expires_at > ")
            .bind(now.0)
            .push(" ORDER BY 7, 1 LIMIT ")
            .bind(MOST_MEMBERS);
        self.all(query, member).await
    }

    /// The actor who created the project. Only the creator may end the creator's membership.
    pub async fn creator(&self, project: ProjectId) -> Result<Option<ActorId>, StoreError> {
        let mut query = Query::new("SELECT created_by FROM onto_projects WHERE id = ");
        query.bind(id(project));
        Ok(self.one(query, |row| row.optional_parse(0)).await?.flatten())
    }

    /// The actor's role in each of the projects of which they are a member.
    pub async fn roles(&self, actor: ActorId, projects: &[ProjectId]) -> Result<Vec<(ProjectId, Role)>, StoreError> {
        let mut query = Query::new("SELECT project_id, role FROM project_members WHERE actor_id = ");
        query.bind(id(actor)).push(" AND project_id IN ").bind_list(projects.iter().map(id));
        self.all(query, |row| Ok((row.parse(0)?, role(row.text(1)?)?))).await
    }

    /// Changes the role of a member. Their subagents are lowered to at most that role. The last owner keeps the role.
    pub async fn set_role(&self, project: ProjectId, actor: ActorId, to: Role) -> Result<MemberChange, StoreError> {
        let kept = if to == Role::Owner { "1 = 1" } else { OTHER_OWNER };
        let first = format!(
            "UPDATE project_members SET role = '{}' WHERE project_id = ?1 AND actor_id = ?2 AND (role <> 'owner' OR {kept})",
            to.name()
        );
        let above: Vec<String> =
            to.and_above().filter(|role| *role != to).map(|role| format!("'{}'", role.name())).collect();
        let mut rest = Vec::new();
        if !above.is_empty() {
            let lowered = format!(
                "UPDATE project_members SET role = '{}' WHERE project_id = ?1 AND {SUBAGENTS} AND role IN ({})",
                to.name(),
                above.join(", ")
            );
            rest.push(Statement::new(lowered, vec![id(project), id(actor)]));
        }
        self.change_member(project, actor, first, rest).await
    }

    /// Ends a membership, and those of the member's subagents in the project. The last owner stays a member.
    pub async fn remove_member(&self, project: ProjectId, actor: ActorId) -> Result<MemberChange, StoreError> {
        let first = format!(
            "DELETE FROM project_members WHERE project_id = ?1 AND actor_id = ?2 AND (role <> 'owner' OR {OTHER_OWNER} \
             OR EXISTS (SELECT 1 FROM actors a WHERE a.id = ?2 AND a.kind <> 'person'))"
        );
        let theirs = format!("DELETE FROM project_members WHERE project_id = ?1 AND {SUBAGENTS}");
        let rest = vec![Statement::new(theirs, vec![id(project), id(actor)])];
        self.change_member(project, actor, first, rest).await
    }

    /// Writes the invitation and its notification. Nothing happens when the person is a member already.
    pub async fn invite(&self, new: NewInvitation) -> Result<(), StoreError> {
        let invite = vec![
            id(new.id),
            id(new.project),
            id(new.actor),
            Value::from(new.role.name()),
            id(new.invited_by.id),
            rows::time(new.now),
            rows::time(new.expires_at()),
        ];
        let announce = vec![
            id(new.project),
            id(new.actor),
            Value::from(INVITATION_KIND),
            Value::from(new.title.clone()),
            Value::from(new.body.clone()),
        ];
        let statements =
            vec![lock_project(new.project), Statement::new(INVITE, invite), Statement::new(ANNOUNCE, announce)];
        self.change_members(statements).await.map(drop)
    }

    /// Withdraws an invitation. False when there is no open one.
    pub async fn withdraw(&self, project: ProjectId, actor: ActorId, now: Timestamp) -> Result<bool, StoreError> {
        let mut query = Query::new("SELECT id FROM project_invitations WHERE project_id = ");
        query.bind(id(project)).push(" AND actor_id = ").bind(id(actor)).push(" AND expires_at > ").bind(now.0);
        match self.one(query, |row| row.parse::<InvitationId>(0)).await? {
            Some(invitation) => self.decline(actor, invitation, now).await,
            None => Ok(false),
        }
    }

    /// The open invitations of a person, newest first, at most `MOST_INVITATIONS`.
    pub async fn invitations(&self, of: ActorId, now: Timestamp) -> Result<Vec<Invitation>, StoreError> {
        let mut query = Query::new(format!("{INVITATION} WHERE i.actor_id = "));
        query
            .bind(id(of))
            .push(" AND i.expires_at > ")
            .bind(now.0)
            .push(" ORDER BY i.id DESC LIMIT ")
            .bind(MOST_INVITATIONS);
        self.all(query, invitation).await
    }

    /// Makes the person a member. False when they have no such open invitation.
    pub async fn accept(&self, of: ActorId, invitation: InvitationId, now: Timestamp) -> Result<bool, StoreError> {
        let mut query = Query::new("SELECT project_id FROM project_invitations WHERE id = ");
        query.bind(id(invitation));
        let Some(project) = self.one(query, |row| row.parse::<ProjectId>(0)).await? else { return Ok(false) };
        let joined = Statement::new(JOIN, vec![id(invitation), id(of), rows::time(now)]);
        let mut statements = vec![lock_project(project)];
        statements.extend(end_invitation(joined, invitation));
        self.change_members(statements).await
    }

    pub async fn decline(&self, of: ActorId, invitation: InvitationId, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "DELETE FROM project_invitations WHERE id = ?1 AND actor_id = ?2 AND expires_at > ?3";
        let declined = Statement::new(sql, vec![id(invitation), id(of), rows::time(now)]);
        self.change_members(end_invitation(declined, invitation)).await
    }

    /// The actor, their subagents, and the people with whom they share a project or an open invitation, oldest first.
    pub async fn acquaintances(
        &self,
        of: ActorId,
        slice: Slice<ActorId>,
        now: Timestamp,
    ) -> Result<Vec<ActorRecord>, StoreError> {
        let mut query = Query::new(format!("SELECT {ACTOR} FROM actors a WHERE (a.id = "));
        query.bind(id(of)).push(" OR a.id IN (SELECT g.id FROM agents g WHERE g.owner = ").bind(id(of));
        query.push(") OR (a.kind = 'person' AND (a.id IN (SELECT o.actor_id FROM project_members m JOIN project_members o ON o.project_id = m.project_id WHERE m.actor_id = ");
        query
            .bind(id(of))
            .push(") OR a.id IN (SELECT i.actor_id FROM project_invitations i WHERE i.invited_by = ")
            .bind(id(of));
        query.push(" AND i.expires_at > ").bind(now.0);
        query.push(") OR a.id IN (SELECT i.invited_by FROM project_invitations i WHERE i.actor_id = ").bind(id(of));
        query.push(" AND i.expires_at > ").bind(now.0).push("))))");
        if let Some(after) = slice.after {
            query.push(" AND a.id > ").bind(id(after));
        }
        query.push(" ORDER BY a.id LIMIT ").bind(page(slice.limit));
        self.all(query, records::actor).await
    }
}
