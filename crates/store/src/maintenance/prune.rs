//! Deletes whole runs that ended long ago: their logs, projections and the platform's own documents. What a run made
//! for people stays, and so does everything that people or other runs refer to.

use super::of_run;
use crate::backend::WriteError;
use crate::log::into_store_error;
use crate::scope::visible_runs;
use crate::sql::{Guard, Row, Statement};
use crate::tables::{Tables, tables};
use crate::{SqlStore, StoreError, records};
use engine::batch::RunRow;
use engine::time::Timestamp;
use engine::workspace::Scope;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub runs: u64,
    pub events: u64,
    pub documents: u64,
    pub blobs: u64,
}

const DOCUMENTS: &str = "DELETE FROM onto_documents WHERE made_run = ?1 AND doc_role IS NOT NULL AND run_id = ?1 \
    AND NOT EXISTS (SELECT 1 FROM onto_document_versions v WHERE v.document_id = onto_documents.id AND (v.run_id IS NULL OR v.run_id <> ?1)) \
    AND NOT EXISTS (SELECT 1 FROM onto_document_entries e WHERE e.document_id = onto_documents.id AND (e.run_id IS NULL OR e.run_id <> ?1)) \
    AND NOT EXISTS (SELECT 1 FROM onto_edges g WHERE g.src = onto_documents.id AND (g.made_run IS NULL OR g.made_run <> ?1)) \
    AND NOT EXISTS (SELECT 1 FROM onto_edges g WHERE g.dst = onto_documents.id AND (g.made_run IS NULL OR g.made_run <> ?1)) \
    RETURNING id";
const VERSIONS: &str = "DELETE FROM onto_document_versions WHERE run_id = ?1 \
    AND NOT EXISTS (SELECT 1 FROM onto_documents d WHERE d.id = document_id)";
const ENTRIES: &str = "DELETE FROM onto_document_entries WHERE run_id = ?1 \
    AND NOT EXISTS (SELECT 1 FROM onto_documents d WHERE d.id = document_id)";

/// Deletes edges of the run whose end no longer exists.
fn delete_dangling_edges(end: &str) -> String {
    format!(
        "DELETE FROM onto_edges WHERE made_run = ?1 AND NOT EXISTS (SELECT 1 FROM onto_documents d WHERE d.id = onto_edges.{end}) \
         AND NOT EXISTS (SELECT 1 FROM onto_tasks t WHERE t.id = onto_edges.{end}) \
         AND NOT EXISTS (SELECT 1 FROM onto_projects p WHERE p.id = onto_edges.{end})"
    )
}

impl SqlStore {
    /// Deletes terminal runs that ended before `before`, one transaction each, then the blobs that no run refers to.
    pub async fn prune(&self, before: Timestamp) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        for run in self.ended_before(before).await? {
            match self.backend.write_long(delete_run(&run, &tables(run.kind))).await {
                Ok(removed) => {
                    pruned.runs += 1;
                    pruned.events += run.last_seq;
                    pruned.documents += removed.get(1).map_or(0, |rows: &Vec<Row>| rows.len() as u64);
                }
                // Somebody continued the run after it was listed.
                Err(WriteError::Refused(_)) => {}
                Err(error) => return Err(into_store_error(error)),
            }
        }
        pruned.blobs = self.delete_unreferenced_blobs().await?;
        Ok(pruned)
    }

    /// Deletes one run that has ended. False when somebody continued it first.
    pub(crate) async fn remove_ended(&self, run: &RunRow) -> Result<bool, StoreError> {
        match self.backend.write(delete_run(run, &tables(run.kind))).await {
            Ok(_) => self.delete_unreferenced_blobs().await.map(|_| true),
            Err(WriteError::Refused(_)) => Ok(false),
            Err(error) => Err(into_store_error(error)),
        }
    }

    async fn ended_before(&self, before: Timestamp) -> Result<Vec<RunRow>, StoreError> {
        let mut query = visible_runs(&Scope::Platform);
        query.push(" AND ended_at < ").bind(before.0).push(" ORDER BY id");
        let found = self.backend.read_long(query.statement()).await?;
        let runs: Result<Vec<RunRow>, StoreError> = found.iter().map(records::run).collect();
        Ok(runs?.into_iter().filter(|run| run.status.is_terminal()).collect())
    }

    /// Deletes the blobs that no run refers to. The table is locked: otherwise an append could add a reference to a
    /// blob while it is being deleted.
    async fn delete_unreferenced_blobs(&self) -> Result<u64, StoreError> {
        let written = self.backend.write_long(vec![
            Statement::new(self.backend.lock_table("blobs"), vec![]),
            Statement::new(
                "DELETE FROM blob_refs WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.run_id = blob_refs.run_id)",
                vec![],
            ),
            Statement::new("DELETE FROM blobs WHERE hash NOT IN (SELECT hash FROM blob_refs) RETURNING hash", vec![]),
        ]);
        Ok(written.await.map_err(into_store_error)?.get(2).map_or(0, |rows| rows.len() as u64))
    }
}

/// The statements that delete a run. `prune` counts the rows of the second (documents), so it must keep its place.
fn delete_run(run: &RunRow, tables: &Tables) -> Vec<Statement> {
    let untouched = "DELETE FROM jobs WHERE run_id = ?1 AND last_seq = ?2 AND state = 'idle'";
    let mut statements = vec![
        Statement::new(untouched, vec![crate::sql::id(run.id), run.last_seq.into()]).guarded(Guard::Head),
        of_run(DOCUMENTS, run.id),
        of_run(VERSIONS, run.id),
        of_run(ENTRIES, run.id),
        of_run(delete_dangling_edges("src"), run.id),
        of_run(delete_dangling_edges("dst"), run.id),
        of_run(format!("DELETE FROM {} WHERE id = ?1", tables.runs), run.id),
    ];
    for table in tables.parts.iter().copied().chain([
        "run_commits",
        "run_projects",
        "blob_refs",
        "notifications",
        "run_checkpoints",
        "trace_cursors",
        "notification_reads",
        "webhook_deliveries",
    ]) {
        statements.push(of_run(format!("DELETE FROM {table} WHERE run_id = ?1"), run.id));
    }
    statements
}
