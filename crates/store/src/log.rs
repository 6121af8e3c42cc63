//! The `Log` port: append, events, leases, checkpoints of views, and the wake-up of workers. `append` and `claims` hold
//! the two long statements. It must not know what a run is or what its events mean.

use crate::backend::WriteError;
use crate::claims::{Claim, millis};
use crate::sql::{Guard, Query, Statement, Value, id};
use crate::tables::ALL_RUNS;
use crate::{SqlStore, StoreError, codec, commits};
use async_trait::async_trait;
use engine::batch::RunRow;
use engine::event::StoredEvent;
use engine::ids::RunId;
use engine::time::Timestamp;
use engine::workspace::Scope;
use runtime::ports::{Append, AppendError, Claimed, Lease, Library, Log};
use std::time::Duration;

const IDS_AT_ONCE: usize = 500;
/// The most runs that `changed_runs` returns. A page that shows recent runs needs no more.
const MAX_CHANGED_RUNS: usize = 1_000;
const CHECKPOINT: &str =
    "SELECT body FROM run_checkpoints WHERE run_id = ?1 AND seq <= ?2 AND format = ?3 ORDER BY seq DESC LIMIT 1";
const KEEP_CHECKPOINT: &str = "INSERT INTO run_checkpoints (run_id, seq, format, body) VALUES (?1, ?2, ?3, ?4) \
    ON CONFLICT (run_id, seq) DO UPDATE SET format = excluded.format, body = excluded.body";
const RENEW_LEASE: &str = "UPDATE jobs SET lease_until = now_ms() + ?1, last_seen = now_ms() \
    WHERE run_id = ?2 AND epoch = ?3 AND lease_owner = ?4 RETURNING run_id";
const RELEASE_LEASE: &str = "UPDATE jobs SET lease_owner = NULL, lease_until = NULL, last_seen = now_ms() \
    WHERE run_id = ?1 AND epoch = ?2 AND lease_owner = ?3";

/// The error of a write that the caller may simply repeat. A commit that may not have happened counts as not made.
pub(crate) fn into_store_error(error: WriteError) -> StoreError {
    match error {
        WriteError::Store(error) => error,
        WriteError::Unknown(what) => StoreError::Unavailable(what),
        WriteError::Refused(Guard::Head) => StoreError::Busy("another transaction changed the row first".into()),
        WriteError::Refused(Guard::Entity(entity)) => {
            StoreError::Busy(format!("another transaction changed {entity} first"))
        }
    }
}

/// Leases in the order of their runs. All transactions lock rows in this order, so two of them cannot deadlock.
fn in_order(leases: &[Lease]) -> Vec<&Lease> {
    let mut leases: Vec<&Lease> = leases.iter().collect();
    leases.sort_by_key(|lease| lease.run_id);
    leases
}

#[async_trait]
impl Log for SqlStore {
    async fn append(&self, append: Append) -> Result<(), AppendError> {
        self.append_batch(&append).await?;
        self.backend.send_hint();
        if append.fence.is_none() {
            // The first wakes every waiter. The second leaves a permit for a worker that is not waiting yet.
            self.work_available.notify_waiters();
            self.work_available.notify_one();
        }
        Ok(())
    }

    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let rows = self.backend.read(commits::query_after(run, after, limit)).await?;
        commits::events_after(run, after, limit, &rows)
    }

    async fn run_row(&self, run: RunId) -> Result<Option<RunRow>, StoreError> {
        self.run(&Scope::Platform, run).await
    }

    async fn claim(
        &self,
        worker: &str,
        limit: usize,
        ttl: Duration,
        only: Option<RunId>,
        driving: &[RunId],
    ) -> Result<Vec<Claimed>, StoreError> {
        self.claim_due(&Claim { worker, ttl, only, driving }, limit).await
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        self.now().await
    }

    async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<RunId>, StoreError> {
        let renewed = |lease: &&Lease| {
            let values = vec![
                Value::from(millis(ttl)),
                id(lease.run_id),
                Value::from(lease.epoch),
                Value::from(lease.worker.as_str()),
            ];
            Statement::new(RENEW_LEASE, values)
        };
        let leases = in_order(leases);
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let written = self.backend.write(leases.iter().map(renewed).collect()).await.map_err(into_store_error)?;
        let lost = leases.iter().zip(written).filter(|(_, rows)| rows.is_empty());
        Ok(lost.map(|(lease, _)| lease.run_id).collect())
    }

    async fn release(&self, leases: &[Lease]) -> Result<(), StoreError> {
        let released = |lease: &Lease| {
            Statement::new(
                RELEASE_LEASE,
                vec![id(lease.run_id), Value::from(lease.epoch), Value::from(lease.worker.as_str())],
            )
        };
        if leases.is_empty() {
            return Ok(());
        }
        self.backend.write(in_order(leases).into_iter().map(released).collect()).await.map_err(into_store_error)?;
        self.backend.send_hint();
        self.work_available.notify_waiters();
        Ok(())
    }

    async fn last_seqs_of_worker(&self, worker: &str) -> Result<Vec<(RunId, u64)>, StoreError> {
        let query = "SELECT run_id, last_seq FROM jobs WHERE lease_owner = ?1 ORDER BY run_id";
        let found = self.backend.read(Statement::new(query, vec![Value::from(worker)])).await?;
        found.iter().map(|row| Ok((row.parse(0)?, row.int(1)?.unsigned_abs()))).collect()
    }

    async fn last_seqs(&self, runs: &[RunId]) -> Result<Vec<(RunId, u64)>, StoreError> {
        let mut ends = Vec::with_capacity(runs.len());
        for chunk in runs.chunks(IDS_AT_ONCE) {
            let mut query = Query::new("SELECT run_id, last_seq FROM jobs WHERE run_id IN ");
            query.bind_list(chunk.iter().map(id));
            for row in self.backend.read(query.statement()).await? {
                ends.push((row.parse(0)?, row.int(1)?.unsigned_abs()));
            }
        }
        Ok(ends)
    }

    async fn changed_runs(&self, since: Timestamp) -> Result<Vec<(RunId, Timestamp)>, StoreError> {
        let mut query = Query::new(format!("SELECT id, updated_at FROM ({}) r WHERE updated_at > ", *ALL_RUNS));
        query.bind(since.0).push(" ORDER BY updated_at DESC, id DESC LIMIT ").bind(MAX_CHANGED_RUNS);
        let found = self.backend.read(query.statement()).await?;
        found.iter().map(|row| Ok((row.parse(0)?, Timestamp(row.int(1)?)))).collect()
    }

    async fn checkpoint(&self, run: RunId, seq: u64, format: i64) -> Result<Option<String>, StoreError> {
        let query = Statement::new(CHECKPOINT, vec![id(run), Value::from(seq), Value::from(format)]);
        let found = self.backend.read(query).await?;
        found.first().map(|row| codec::unpack(row.bytes(0)?)).transpose()
    }

    async fn store_checkpoint(&self, run: RunId, seq: u64, format: i64, text: String) -> Result<(), StoreError> {
        let values = vec![id(run), Value::from(seq), Value::from(format), Value::from(codec::pack(&text))];
        self.backend.write(vec![Statement::new(KEEP_CHECKPOINT, values)]).await.map(drop).map_err(into_store_error)
    }

    async fn wakeup(&self, at_most: Duration) {
        tokio::select! {
            () = self.work_available.notified() => {}
            () = self.backend.wait_for_hint(at_most) => {}
        }
    }
}
