//! Projections again, from the logs alone: the same rows as were written with the events.

use super::of_run;
use crate::append::job_state;
use crate::backend::WriteError;
use crate::log::unguarded;
use crate::sql::{Guard, Statement, Value, id};
use crate::tables::{Tables, tables};
use crate::{SqlStore, StoreError, rows};
use engine::event::Event;
use engine::ids::RunId;
use engine::projection;
use engine::run::{Kind, Run};
use std::time::Duration;

/// How often a run is read again because it grew meanwhile.
const TRIES: u32 = 50;
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// The rows that follow from a whole log, as statements on empty tables.
pub(super) struct Projected {
    pub kind: Kind,
    /// Of its job.
    pub state: &'static str,
    pub statements: Vec<Statement>,
}

/// `None` when the log does not begin with run.queued.
pub(super) fn projected(events: &[Event]) -> Option<Projected> {
    let rows = projection::rows(&Run::fold(events)?, events);
    let (state, _) = job_state(&rows);
    Some(Projected { kind: rows.run.kind, state, statements: rows::projections(&rows, rows::Stage::Created) })
}

/// What else is a run's projection besides its own row: tables by `run_id`.
pub(super) fn parts(tables: &Tables) -> impl Iterator<Item = &'static str> {
    tables.parts.iter().copied().chain(["run_projects", "notifications", "onto_document_entries"])
}

pub(super) fn cleared(run: RunId, kind: Kind) -> Vec<Statement> {
    let tables = tables(kind);
    let mut statements = vec![of_run(format!("DELETE FROM {} WHERE id = ?1", tables.runs), run)];
    let dependent = parts(&tables).chain(["run_checkpoints"]);
    statements.extend(dependent.map(|table| of_run(format!("DELETE FROM {table} WHERE run_id = ?1"), run)));
    statements
}

impl SqlStore {
    /// Rewrites the projections of every run; returns how many there were.
    pub async fn rebuild(&self) -> Result<u64, StoreError> {
        let runs = self.every_run().await?;
        for run in &runs {
            self.rebuild_run(*run).await?;
        }
        Ok(runs.len() as u64)
    }

    /// A run that goes on meanwhile is read again until its log held still for one write.
    pub async fn rebuild_run(&self, run: RunId) -> Result<(), StoreError> {
        let mut events: Vec<Event> = Vec::new();
        for attempt in 0..TRIES {
            self.read_on(run, &mut events).await?;
            let Some(projected) = projected(&events) else {
                return match self.last_seq(run).await? {
                    // Removed since it was listed.
                    None => Ok(()),
                    Some(_) => {
                        Err(StoreError::Unusable(format!("the log of run {run} does not begin with run.queued")))
                    }
                };
            };
            // The log must not have grown since it was read.
            let unmoved = "UPDATE jobs SET last_seq = last_seq WHERE run_id = ?1 AND last_seq = ?2";
            let unmoved = Statement::new(unmoved, vec![id(run), Value::from(events.len())]).guarded(Guard::Head);
            let mut statements = vec![unmoved];
            statements.extend(cleared(run, projected.kind));
            statements.extend(projected.statements);
            match self.backend.write_long(statements).await {
                Ok(_) => return Ok(()),
                Err(WriteError::Refused(_) | WriteError::Store(StoreError::Busy(_))) => {
                    if self.last_seq(run).await?.is_none() {
                        return Ok(());
                    }
                    tokio::time::sleep((Duration::from_millis(5) * attempt).min(MAX_PAUSE)).await;
                }
                Err(error) => return Err(unguarded(error)),
            }
        }
        Err(StoreError::Busy(format!(
            "run {run} grew each of the {TRIES} times its rows were computed; its rows are as they were. Pause it and try again"
        )))
    }
}
