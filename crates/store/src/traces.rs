//! How far the log of each run was exported as traces, one cursor per run. The cursors outlive the process, so a
//! restart does not send a span again. The crate `outbound` exports; this module must not know what a span is.
//!
//! The row with an empty `run_id` holds, as its seq, the time at which tracing began.

use crate::log::into_store_error;
use crate::sql::{Query, Row, Statement, Value, id};
use crate::tables::ALL_RUNS;
use crate::{SqlStore, StoreError};
use engine::ids::RunId;
use std::time::Duration;

const BEGIN: &str = "INSERT INTO trace_cursors (run_id, seq) VALUES ('', now_ms()) ON CONFLICT DO NOTHING";
const MARK_EXPORTED: &str = "UPDATE trace_cursors SET seq = ?1, claimed_until = now_ms() + ?2 WHERE run_id = ?3";

/// The fallback leaves room to add the current time without an overflow.
fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 4)
}

/// Adds a cursor for every run without one that changed since tracing began.
fn add_cursors(of: Option<&[RunId]>) -> Statement {
    let mut query = Query::new(format!(
        "INSERT INTO trace_cursors (run_id, seq) SELECT r.id, 0 FROM ({}) r \
         WHERE r.updated_at >= (SELECT s.seq FROM trace_cursors s WHERE s.run_id = '')",
        *ALL_RUNS
    ));
    if let Some(runs) = of {
        query.push(" AND r.id IN ").bind_list(runs.iter().map(id));
    }
    query.push(" ON CONFLICT DO NOTHING");
    query.statement()
}

fn claim_cursors(of: Option<&[RunId]>, limit: usize, hold: Duration) -> Statement {
    let mut query = Query::new("UPDATE trace_cursors SET claimed_until = now_ms() + ");
    query.bind(ms(hold)).push(
        " WHERE run_id IN (SELECT c.run_id FROM trace_cursors c WHERE c.run_id <> '' \
         AND c.seq < (SELECT j.last_seq FROM jobs j WHERE j.run_id = c.run_id) \
         AND (c.claimed_until IS NULL OR c.claimed_until <= now_ms())",
    );
    if let Some(runs) = of {
        query.push(" AND c.run_id IN ").bind_list(runs.iter().map(id));
    }
    query.push(" LIMIT ").bind(limit).push(" FOR UPDATE SKIP LOCKED) RETURNING run_id, seq");
    query.statement()
}

impl SqlStore {
    /// Writes down when tracing began, once per database. Runs that ended before are never exported.
    pub async fn begin_tracing(&self) -> Result<(), StoreError> {
        self.backend.write(vec![Statement::new(BEGIN, vec![])]).await.map(drop).map_err(into_store_error)
    }

    /// Claims up to `limit` runs, of `of` or of all, whose log is longer than what was exported. Returns each with the
    /// seq up to which it was exported. The claim ends after `hold` by the database's clock, so an exporter that died
    /// loses it.
    pub async fn take_unexported(
        &self,
        of: Option<&[RunId]>,
        limit: usize,
        hold: Duration,
    ) -> Result<Vec<(RunId, u64)>, StoreError> {
        if of.is_some_and(<[RunId]>::is_empty) {
            return Ok(Vec::new());
        }
        let written = self
            .backend
            .write(vec![add_cursors(of), claim_cursors(of, limit, hold)])
            .await
            .map_err(into_store_error)?;
        let cursor = |row: &Row| Ok((row.parse(0)?, row.int(1)?.unsigned_abs()));
        written.iter().skip(1).flatten().map(cursor).collect()
    }

    /// The run is exported up to `seq`. The claim is kept for `hold`; zero releases it.
    pub async fn mark_exported(&self, run: RunId, seq: u64, hold: Duration) -> Result<(), StoreError> {
        let values = vec![Value::from(seq), Value::from(ms(hold)), id(run)];
        self.backend.write(vec![Statement::new(MARK_EXPORTED, values)]).await.map(drop).map_err(into_store_error)
    }
}
