//! What an operator does with a database: check it, rebuild its projections, prune old runs, export anchors, copy it.
//! All of it may take long. Runs may be appended to at the same time, except during `copy`.

mod anchor;
mod copy;
mod examine;
mod prune;
mod rebuild;
mod references;
mod verify;

pub use anchor::{Anchor, AnchorMismatch};
pub(crate) use copy::is_unfinished;
pub use copy::{Copied, copy};
pub use examine::{Damage, Depth, Examination};
pub use prune::Pruned;
pub(crate) use rebuild::note as rebuild_note;
pub use verify::LogCheck;

use crate::sql::{Statement, id};
use crate::{SqlStore, StoreError, commits, records};
use engine::event::{Event, StoredEvent};
use engine::ids::RunId;

/// Events are read in pages. A long read would keep SQLite from checkpointing its write-ahead log.
const PAGE: usize = 1000;

impl SqlStore {
    async fn page_after(&self, run: RunId, after: u64) -> Result<Vec<Event>, StoreError> {
        let rows = self.backend.read_long(commits::query_after(run, after, PAGE)).await?;
        let events = commits::events_after(run, after, PAGE, &rows)?;
        Ok(events.into_iter().map(StoredEvent::decode).collect())
    }

    /// Reads the rest of a log onto the end of `events`.
    async fn read_on(&self, run: RunId, events: &mut Vec<Event>) -> Result<(), StoreError> {
        loop {
            let page = self.page_after(run, events.len() as u64).await?;
            if page.is_empty() {
                return Ok(());
            }
            events.extend(page);
        }
    }

    async fn every_run(&self) -> Result<Vec<RunId>, StoreError> {
        let found = self.backend.read_long(Statement::new("SELECT run_id FROM jobs ORDER BY run_id", vec![])).await?;
        found.iter().map(|row| row.parse(0)).collect()
    }

    /// The seq at which the log ends. `None` when the run no longer exists.
    async fn last_seq(&self, run: RunId) -> Result<Option<u64>, StoreError> {
        let found = self.backend.read(of_run("SELECT last_seq FROM jobs WHERE run_id = ?1", run)).await?;
        found.first().map(|row| records::number(row, 0)).transpose()
    }
}

/// A statement about one run.
fn of_run(sql: impl Into<std::borrow::Cow<'static, str>>, run: RunId) -> Statement {
    Statement::new(sql, vec![id(run)])
}
