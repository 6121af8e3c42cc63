//! What the HTTP server reads of documents and tools do not: earlier versions, and the entries of a scratchpad one by
//! one.

use crate::scope::{row_in_scope, visible_row};
use crate::sql::{Query, Row, id, page};
use crate::{SqlStore, StoreError, records};
use engine::ids::{DocumentId, RunId};
use engine::member_role::MemberRole;
use engine::time::Timestamp;
use engine::workspace::{Entry, Scope};
use runtime::ports::Slice;
use std::collections::HashMap;
use uuid::Uuid;

/// One version of a document.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct DocumentVersion {
    pub version: i64,
    pub title: String,
    pub content: String,
    pub run_id: Option<RunId>,
    pub seq: Option<u64>,
    pub at: Timestamp,
}

impl SqlStore {
    /// The current versions of these documents and tasks; those that are gone are missing. It takes no scope: a number says
    /// nothing, and the caller has it from a run that it may see.
    pub async fn versions_of(&self, entities: &[Uuid]) -> Result<HashMap<Uuid, i64>, StoreError> {
        let mut query = Query::new("");
        for (nth, table) in ["onto_documents", "onto_tasks"].into_iter().enumerate() {
            query.push(if nth > 0 { " UNION ALL " } else { "" });
            query
                .push("SELECT id, version FROM ")
                .push(table)
                .push(" WHERE id IN ")
                .bind_list(entities.iter().copied().map(id));
        }
        let version = |row: &Row| Ok((row.parse(0)?, row.int(1)?));
        Ok(self.all(query, version).await?.into_iter().collect())
    }

    /// Whether the document exists and is in scope. It does not read the content.
    pub async fn sees_document(&self, scope: &Scope, document: DocumentId) -> Result<bool, StoreError> {
        let query = visible_row("SELECT id FROM onto_documents", "project_id", scope, document);
        Ok(self.one(query, |_| Ok(())).await?.is_some())
    }

    /// The versions that are older than the one in `slice`, newest first. The newest is the document itself.
    pub async fn versions(
        &self,
        scope: &Scope,
        document: DocumentId,
        slice: Slice<i64>,
    ) -> Result<Vec<DocumentVersion>, StoreError> {
        let query = visible_row(records::DOCUMENT, "project_id", scope, document);
        let Some(kept) = self.one(query, records::versioned_document).await? else { return Ok(Vec::new()) };
        // The document may change between the two reads. The second read takes nothing newer than what the first one
        // saw, so that no version is listed twice.
        let before = slice.after.unwrap_or(i64::MAX).min(kept.entity.version);
        let mut versions = Vec::new();
        if slice.after.is_none_or(|after| kept.entity.version < after) {
            versions.push(records::current_version(kept));
        }
        let left = page(slice.limit).saturating_sub(versions.len());
        let mut query = Query::new(format!("{} WHERE document_id = ", records::VERSION));
        query.bind(id(document)).push(" AND version < ").bind(before).push(" ORDER BY version DESC LIMIT ").bind(left);
        versions.extend(self.all(query, records::version).await?);
        Ok(versions)
    }

    /// The entries of a scratchpad before a position, newest first.
    pub async fn entries(
        &self,
        scope: &Scope,
        document: DocumentId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut query = Query::new(format!("{} WHERE document_id = ", records::ENTRY));
        query.bind(id(document)).push(" AND EXISTS (SELECT 1 FROM onto_documents d WHERE d.id = document_id");
        row_in_scope(&mut query, "d.project_id", scope, MemberRole::Viewer);
        query.push(")");
        if let Some(before) = before {
            query.push(" AND position < ").bind(before);
        }
        query.push(" ORDER BY position DESC, key DESC LIMIT ").bind(page(limit));
        self.all(query, records::entry).await
    }
}
