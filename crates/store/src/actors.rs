//! Actors, and memberships that begin or end without an invitation. It must not know what a role allows.

use crate::log::into_store_error;
use crate::members::INSERT_MEMBER;
use crate::sql::{Query, Statement, Value, id, oldest};
use crate::{SqlStore, StoreError, records, rows};
use engine::ids::{ActorId, ProjectId};
use engine::role::Role;
use engine::workspace::ActorRecord;
use runtime::ports::{Library, Slice};

impl SqlStore {
    pub async fn create_actor(&self, actor: ActorRecord) -> Result<(), StoreError> {
        self.backend.write(vec![rows::actor(&actor)]).await.map_err(into_store_error)?;
        match self.actor(&actor.handle).await? {
            Some(known) if known.id == actor.id => Ok(()),
            _ => Err(StoreError::Unusable(format!("the handle {} is taken", actor.handle))),
        }
    }

    /// All actors, oldest first.
    pub async fn actors(&self, slice: Slice<ActorId>) -> Result<Vec<ActorRecord>, StoreError> {
        self.all(oldest(Query::new(format!("{} WHERE 1 = 1", records::ACTOR)), slice), records::actor).await
    }

    /// Makes the actor a member without an invitation. An existing member keeps their role.
    pub async fn grant(&self, project: ProjectId, actor: ActorId, role: Role) -> Result<(), StoreError> {
        let values = vec![id(project), id(actor), Value::from(role.name())];
        self.backend.write(vec![Statement::new(INSERT_MEMBER, values)]).await.map(drop).map_err(into_store_error)
    }

    pub async fn revoke(&self, project: ProjectId, actor: ActorId) -> Result<bool, StoreError> {
        let sql = "DELETE FROM project_members WHERE project_id = ?1 AND actor_id = ?2 RETURNING project_id";
        let written = self
            .backend
            .write(vec![Statement::new(sql, vec![id(project), id(actor)])])
            .await
            .map_err(into_store_error)?;
        Ok(written.iter().any(|rows| !rows.is_empty()))
    }
}
