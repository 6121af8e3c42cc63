//! What an operator does to a database: check a log, rebuild what follows from the logs, prune old runs.

mod prune;
mod rebuild;
mod verify;

pub use prune::Pruned;
pub use verify::Verdict;

use crate::sql::{Statement, id};
use crate::{SqlStore, StoreError};
use engine::event::Event;
use engine::ids::RunId;
use runtime::ports::Log;

/// Events are read in pages, so that no read holds back a checkpoint for long.
const PAGE: usize = 1000;

impl SqlStore {
    async fn page_after(&self, run: RunId, after: u64) -> Result<Vec<Event>, StoreError> {
        Ok(self.events(run, after, PAGE).await?.into_iter().map(|event| event.decode()).collect())
    }

    async fn every_run(&self) -> Result<Vec<RunId>, StoreError> {
        let found = self.backend.read(Statement::new("SELECT run_id FROM jobs ORDER BY run_id", vec![])).await?;
        found.iter().map(|row| row.parse(0)).collect()
    }
}

/// A statement about one run.
fn of_run(sql: impl Into<std::borrow::Cow<'static, str>>, run: RunId) -> Statement {
    Statement::new(sql, vec![id(run)])
}
