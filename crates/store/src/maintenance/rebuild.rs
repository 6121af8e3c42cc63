//! Computes projections again from the logs alone. The rows are the same as those written with the events.

use super::of_run;
use crate::append::job_state;
use crate::backend::WriteError;
use crate::log::into_store_error;
use crate::sql::{Guard, Statement, Value, id};
use crate::tables::{Tables, tables};
use crate::{SqlStore, StoreError, rows};
use engine::event::Event;
use engine::ids::RunId;
use engine::projection;
use engine::run::{Kind, Run};
use std::time::Duration;

/// The most attempts at a run whose log grows while its rows are computed.
const TRIES: u32 = 50;
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// The note that projections are to be written again.
const REBUILD: &str = "rebuild";

pub(crate) fn note() -> Statement {
    let note = "INSERT INTO database_notes (name, value) VALUES (?1, 'after a migration') ON CONFLICT DO NOTHING";
    Statement::new(note, vec![Value::from(REBUILD)])
}

/// The projections of a whole log, as inserts into empty tables.
pub(super) struct Projected {
    pub kind: Kind,
    /// What the row of the run's job says besides its lease: kind, state, agent and owner.
    pub job: [Option<String>; 4],
    pub statements: Vec<Statement>,
}

/// `None` when the log does not begin with `run.queued`.
pub(super) fn projected(events: &[Event]) -> Option<Projected> {
    let rows = projection::rows(&Run::fold(events)?, events);
    let (state, _) = job_state(&rows);
    let run = &rows.run;
    let job = [
        Some(run.kind.name().to_owned()),
        Some(state.to_owned()),
        run.agent_id.map(|agent| agent.to_string()),
        Some(run.owner.to_string()),
    ];
    Some(Projected { kind: run.kind, job, statements: rows::projections(&rows, rows::Stage::Created) })
}

/// The projections of a run besides its own row; each has a column `run_id`.
pub(super) fn parts(tables: &Tables) -> impl Iterator<Item = &'static str> {
    tables.parts.iter().copied().chain(["run_projects", "notifications", "onto_document_entries"])
}

pub(super) fn delete_projections(run: RunId, kind: Kind) -> Vec<Statement> {
    let tables = tables(kind);
    let mut statements = vec![of_run(format!("DELETE FROM {} WHERE id = ?1", tables.runs), run)];
    let dependent = parts(&tables).chain(["run_checkpoints"]);
    statements.extend(dependent.map(|table| of_run(format!("DELETE FROM {table} WHERE run_id = ?1"), run)));
    statements
}

impl SqlStore {
    /// Rewrites the projections of every run. Returns the number of runs.
    pub async fn rebuild(&self) -> Result<u64, StoreError> {
        let runs = self.every_run().await?;
        for run in &runs {
            self.rebuild_run(*run).await?;
        }
        Ok(runs.len() as u64)
    }

    /// Rewrites the projections that a migration has left to the logs. The note stays until all of them are written.
    pub(crate) async fn rebuild_after_migration(&self) -> Result<(), StoreError> {
        let noted = Statement::new("SELECT 1 FROM database_notes WHERE name = ?1", vec![Value::from(REBUILD)]);
        if self.backend.read(noted).await?.is_empty() {
            return Ok(());
        }
        self.rebuild().await?;
        let done = Statement::new("DELETE FROM database_notes WHERE name = ?1", vec![Value::from(REBUILD)]);
        self.backend.write(vec![done]).await.map(drop).map_err(into_store_error)
    }

    /// Rewrites the projections of one run, in one transaction. If the log grew since it was read, the transaction is
    /// refused and the rest of the log is read.
    pub async fn rebuild_run(&self, run: RunId) -> Result<(), StoreError> {
        let mut events: Vec<Event> = Vec::new();
        for attempt in 0..TRIES {
            self.read_on(run, &mut events).await?;
            let Some(projected) = projected(&events) else {
                return match self.last_seq(run).await? {
                    // The run was deleted after it was listed.
                    None => Ok(()),
                    Some(_) => {
                        Err(StoreError::Unusable(format!("the log of run {run} does not begin with run.queued")))
                    }
                };
            };
            // This update changes nothing. It locks the job's row and refuses the batch if the log has grown.
            let unchanged = "UPDATE jobs SET last_seq = last_seq WHERE run_id = ?1 AND last_seq = ?2";
            let unchanged = Statement::new(unchanged, vec![id(run), Value::from(events.len())]).guarded(Guard::Head);
            let mut statements = vec![unchanged];
            statements.extend(delete_projections(run, projected.kind));
            statements.extend(projected.statements);
            match self.backend.write_long(statements).await {
                Ok(_) => return Ok(()),
                Err(WriteError::Refused(_) | WriteError::Store(StoreError::Busy(_))) => {
                    if self.last_seq(run).await?.is_none() {
                        return Ok(());
                    }
                    tokio::time::sleep((Duration::from_millis(5) * attempt).min(MAX_PAUSE)).await;
                }
                Err(error) => return Err(into_store_error(error)),
            }
        }
        Err(StoreError::Busy(format!(
            "the log of run {run} grew during each of {TRIES} attempts to rebuild its rows; the rows are unchanged. Pause the run and try again"
        )))
    }
}
