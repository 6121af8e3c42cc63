//! Projections again, from the logs alone: the same rows as were written with the events.

use super::of_run;
use crate::log::unguarded;
use crate::sql::{Guard, Statement, Value, id};
use crate::tables::tables;
use crate::{SqlStore, StoreError, rows};
use engine::event::Event;
use engine::ids::RunId;
use engine::projection;
use engine::run::Run;

impl SqlStore {
    /// Rewrites the projections of every run; returns how many there were.
    pub async fn rebuild(&self) -> Result<u64, StoreError> {
        let runs = self.every_run().await?;
        for run in &runs {
            self.rebuild_run(*run).await?;
        }
        Ok(runs.len() as u64)
    }

    pub async fn rebuild_run(&self, run: RunId) -> Result<(), StoreError> {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let page = self.page_after(run, events.len() as u64).await?;
            if page.is_empty() {
                break;
            }
            events.extend(page);
        }
        let unreadable =
            || StoreError::Unusable(format!("the log of run {run} does not begin with its birth; run `pleach doctor`"));
        let folded = Run::fold(&events).ok_or_else(unreadable)?;
        let rows = projection::rows(&folded, &events);
        let tables = tables(rows.run.kind);
        // The log must not have grown since it was read.
        let unmoved = "UPDATE jobs SET last_seq = last_seq WHERE run_id = ?1 AND last_seq = ?2";
        let mut statements =
            vec![Statement::new(unmoved, vec![id(run), Value::from(events.len())]).guarded(Guard::Head)];
        statements.push(of_run(format!("DELETE FROM {} WHERE id = ?1", tables.runs), run));
        for table in tables.parts.iter().copied().chain([
            "run_projects",
            "notifications",
            "onto_document_entries",
            "run_checkpoints",
        ]) {
            statements.push(of_run(format!("DELETE FROM {table} WHERE run_id = ?1"), run));
        }
        statements.extend(rows::projections(&rows, rows::Stage::Born));
        self.backend.write(statements).await.map(drop).map_err(unguarded)
    }
}
