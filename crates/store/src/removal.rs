//! Deletion of runs, projects, documents and tasks. Only people delete; a run never deletes what it or others made.
//! Each deletion is one transaction. Its first statement has the condition under which it is allowed, so nothing can
//! change between the check and the deletion.

use crate::backend::WriteError;
use crate::log::into_store_error;
use crate::members::DELETE_INVITATIONS;
use crate::sql::{Guard, Statement, id};
use crate::tables::tables;
use crate::{SqlStore, StoreError};
use engine::ids::{DocumentId, ProjectId, RunId, TaskId};
use engine::run::Kind;
use engine::workspace::Scope;
use runtime::ports::Library;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    Done,
    /// There was nothing to delete.
    Gone,
    /// Something still refers to it. Nothing was deleted.
    Needed,
}

const PARTS_OF_DOCUMENT: [&str; 3] = [
    "DELETE FROM onto_document_versions WHERE document_id = ?1",
    "DELETE FROM onto_document_entries WHERE document_id = ?1",
    EDGES_OF,
];
const EDGES_OF: &str = "DELETE FROM onto_edges WHERE src = ?1 OR dst = ?1";

const IN_PROJECT: [&str; 6] = [
    "DELETE FROM onto_edges WHERE project_id = ?1 OR src = ?1 OR dst = ?1 \
        OR src IN (SELECT id FROM onto_documents WHERE project_id = ?1) OR dst IN (SELECT id FROM onto_documents WHERE project_id = ?1) \
        OR src IN (SELECT id FROM onto_tasks WHERE project_id = ?1) OR dst IN (SELECT id FROM onto_tasks WHERE project_id = ?1)",
    "DELETE FROM onto_document_versions WHERE document_id IN (SELECT id FROM onto_documents WHERE project_id = ?1)",
    "DELETE FROM onto_document_entries WHERE document_id IN (SELECT id FROM onto_documents WHERE project_id = ?1)",
    "DELETE FROM onto_documents WHERE project_id = ?1",
    "DELETE FROM onto_tasks WHERE project_id = ?1",
    "DELETE FROM project_members WHERE project_id = ?1",
];

/// Deletes a project if no run works or worked in it.
fn delete_unused_project() -> String {
    let of_runs: String = Kind::ALL
        .iter()
        .map(|kind| {
            format!(" AND NOT EXISTS (SELECT 1 FROM {} r WHERE r.workspace_project_id = ?1)", tables(*kind).runs)
        })
        .collect();
    format!(
        "DELETE FROM onto_projects WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM run_projects p WHERE p.project_id = ?1){of_runs}"
    )
}

impl SqlStore {
    /// Runs the batch if its first statement touches a row. False when it does not.
    async fn delete(&self, statements: Vec<Statement>) -> Result<bool, StoreError> {
        let mut statements = statements;
        if let Some(first) = statements.first_mut() {
            first.guard = Some(Guard::Head);
        }
        match self.backend.write(statements).await {
            Ok(_) => Ok(true),
            Err(WriteError::Refused(_)) => Ok(false),
            Err(error) => Err(into_store_error(error)),
        }
    }
}

fn about(sql: impl Into<std::borrow::Cow<'static, str>>, key: impl Into<uuid::Uuid>) -> Statement {
    Statement::new(sql, vec![id(key)])
}

fn done_or_gone(found: bool) -> Removed {
    if found { Removed::Done } else { Removed::Gone }
}

impl SqlStore {
    /// Deletes the run with its log, its projections and its own documents. What it made for people stays. A run that
    /// has not ended is `Needed`.
    pub async fn remove_run(&self, run: RunId) -> Result<Removed, StoreError> {
        match self.run(&Scope::Platform, run).await? {
            None => Ok(Removed::Gone),
            Some(row) if !row.status.is_terminal() => Ok(Removed::Needed),
            // Somebody may continue the run between the read and the deletion. The guard then refuses the deletion.
            Some(row) => Ok(if self.remove_ended(&row).await? { Removed::Done } else { Removed::Needed }),
        }
    }

    /// Deletes the project with everything in it. It is `Needed` while there are runs that work or worked in it.
    pub async fn remove_project(&self, project: ProjectId) -> Result<Removed, StoreError> {
        let mut statements = vec![about(delete_unused_project(), project)];
        statements.extend(IN_PROJECT.into_iter().chain(DELETE_INVITATIONS).map(|sql| about(sql, project)));
        match self.delete(statements).await? {
            true => Ok(Removed::Done),
            false => Ok(match self.project(&Scope::Platform, project).await? {
                Some(_) => Removed::Needed,
                None => Removed::Gone,
            }),
        }
    }

    /// Deletes the document with its versions, entries and edges.
    pub async fn remove_document(&self, document: DocumentId) -> Result<Removed, StoreError> {
        let mut statements = vec![about("DELETE FROM onto_documents WHERE id = ?1", document)];
        statements.extend(PARTS_OF_DOCUMENT.map(|sql| about(sql, document)));
        self.delete(statements).await.map(done_or_gone)
    }

    /// Deletes the task with its edges.
    pub async fn remove_task(&self, task: TaskId) -> Result<Removed, StoreError> {
        self.delete(vec![about("DELETE FROM onto_tasks WHERE id = ?1", task), about(EDGES_OF, task)])
            .await
            .map(done_or_gone)
    }
}
