//! `append`, the one transaction that changes a log. Events, blobs, projections and workspace changes go into one
//! batch, so none of them is ever stored without the others. It must not decide anything about a run: the rows come
//! with the batch.
//!
//! Two outcomes need a second look at the database. A refused batch is explained by reading the job's row. A commit
//! whose answer was lost is looked up in the log.

use crate::backend::WriteError;
use crate::rows::Stage;
use crate::sql::{Guard, Statement, Value, id, optional_id};
use crate::workspace::Touched;
use crate::{SqlStore, StoreError, codec, commits, notifications, rows};
use engine::batch::Rows;
use engine::blob::Blob;
use engine::ids::RunId;
use engine::run::Status;
use engine::time::Timestamp;
use runtime::ports::{Append, AppendError};
use std::time::Duration;

/// The most attempts at one batch. It is tried again when an entity changed between the read and the write, and when it
/// is unknown whether a commit happened.
const TRIES: usize = 4;
/// The length of the first lease, for a run that is claimed in the transaction that creates it.
const FIRST_LEASE: Duration = Duration::from_secs(10);

const INSERT_JOB: &str = "INSERT INTO jobs (run_id, kind, state, unit, last_seq, lease_owner, lease_until, epoch, attempts, last_seen, due, created_at, agent, owner) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms() + ?7, ?8, ?8, CASE WHEN ?6 IS NULL THEN NULL ELSE now_ms() END, now_ms(), now_ms(), ?9, ?10) \
    ON CONFLICT DO NOTHING";

/// Moves the job's row to the end of the log.
///
/// A run that rests gives up its lease. A paused run keeps it until its calls in flight have returned, so that their
/// outcomes can be appended. A new iteration starts counting attempts at zero. A run that waits until a deadline (`?6`)
/// is due then; any other change makes it due now, unless it is due already.
macro_rules! advance {
    ($seen:literal, $fence:literal) => {
        concat!(
            "UPDATE jobs SET due = CASE WHEN ?6 IS NOT NULL THEN ?6 WHEN state = 'live' AND due <= now_ms() THEN due ELSE now_ms() END, \
             state = ?1, lease_owner = CASE WHEN ?7 = 1 THEN lease_owner END, lease_until = CASE WHEN ?7 = 1 THEN lease_until END, \
             attempts = CASE WHEN unit = ?2 THEN attempts ELSE 0 END, unit = ?2, last_seq = ?3",
            $seen,
            " WHERE run_id = ?4 AND last_seq = ?5",
            $fence
        )
    };
}

/// The same for a driver's append that leaves the status as it is. It writes no indexed column, so no index is written
/// either.
const CONTINUE_JOB: &str = "UPDATE jobs SET attempts = CASE WHEN unit = ?1 THEN attempts ELSE 0 END, unit = ?1, last_seq = ?2, \
    last_seen = now_ms() WHERE run_id = ?3 AND last_seq = ?4 AND epoch = ?5 AND lease_owner = ?6";

/// A command may come from any process, so it needs no lease. The expected seq still guards it.
const ADVANCE_BY_COMMAND: &str = advance!("", "");
const ADVANCE_BY_DRIVER: &str = advance!(", last_seen = now_ms()", " AND epoch = ?8 AND lease_owner = ?9");

impl SqlStore {
    pub(crate) async fn append_batch(&self, append: &Append) -> Result<(), AppendError> {
        let batch = &append.batch;
        let mut touched = Touched::without_created(&batch.changes);
        let mut last = StoreError::Unavailable("it is unknown whether the commit happened".into()).into();
        let mut unknown = false;
        for _ in 0..TRIES {
            let mut statements = self.log_statements(append);
            match self.workspace_statements(append, &touched).await {
                Ok(revisions) => statements.extend(revisions),
                Err(AppendError::Conflict(entity)) => {
                    return Err(self.refusal(append).await?.unwrap_or(AppendError::Conflict(entity)));
                }
                Err(error) => return Err(error),
            }
            match self.backend.append(statements).await {
                Ok(_) => {
                    self.blob_cache.remember(batch.run_id, &batch.blobs);
                    return Ok(());
                }
                // The server may finish an unconfirmed commit after we looked for it. It is our own commit, then, that
                // moved the log and so refused the retry.
                Err(WriteError::Refused(Guard::Head)) if unknown && self.is_committed(append).await? => return Ok(()),
                Err(WriteError::Refused(Guard::Head)) => {
                    let moved = AppendError::Moved { run_id: batch.run_id, last_seq: batch.expected_seq };
                    return Err(self.refusal(append).await?.unwrap_or(moved));
                }
                // An entity changed after it was read, or exists although the batch creates it. Read all of them again.
                Err(WriteError::Refused(Guard::Entity(entity))) => {
                    touched = Touched::by(&batch.changes);
                    last = AppendError::Conflict(entity);
                }
                Err(WriteError::Unknown(_)) if self.is_committed(append).await? => return Ok(()),
                Err(WriteError::Unknown(what)) => {
                    unknown = true;
                    last = StoreError::Unavailable(what).into();
                }
                Err(WriteError::Store(error)) => return Err(error.into()),
            }
        }
        Err(last)
    }

    /// Everything but the workspace changes. The guarded update of the job's row comes first: a stale batch fails at
    /// its first statement, and two appends to one run wait for each other on that row.
    fn log_statements(&self, append: &Append) -> Vec<Statement> {
        let stage = stage(append);
        let run_id = append.batch.run_id;
        let mut statements = vec![job_statement(append, stage).guarded(Guard::Head)];
        statements.extend(commits::insert_commit(&append.batch.events));
        statements.extend(blobs(run_id, &self.blob_cache.unwritten(run_id, &append.batch.blobs)));
        statements.extend(rows::projections(&append.rows, stage));
        statements.extend(notifications::insert_deliveries(&append.rows));
        statements
    }

    async fn workspace_statements(&self, append: &Append, touched: &Touched) -> Result<Vec<Statement>, AppendError> {
        let batch = &append.batch;
        let updated = append.rows.run.updated_at;
        // A change that names no event of this batch takes the time of its last event.
        let at = |seq: u64| -> Timestamp {
            let event = batch.events.iter().find(|event| event.seq == seq).or(batch.events.last());
            event.map_or(updated, |event| event.at)
        };
        self.revise(&batch.changes, touched, Some(batch.run_id), at).await
    }

    /// Why the append was refused, by the job's row. `None` when nothing is in its way any more.
    async fn refusal(&self, append: &Append) -> Result<Option<AppendError>, StoreError> {
        let run_id = append.batch.run_id;
        let query = "SELECT last_seq, epoch, lease_owner FROM jobs WHERE run_id = ?1";
        let found = self.backend.read(Statement::new(query, vec![id(run_id)])).await?;
        let job = found.first();
        if let Some(lease) = &append.fence {
            let held = |row: &crate::sql::Row| -> Result<bool, StoreError> {
                Ok(row.int(1)? == lease.epoch && row.optional_text(2)? == Some(lease.worker.as_str()))
            };
            if !job.map(held).transpose()?.unwrap_or(false) {
                return Ok(Some(AppendError::LeaseLost(run_id)));
            }
        }
        let last_seq = job.map(|row| row.int(0)).transpose()?.unwrap_or(0).unsigned_abs();
        Ok((last_seq != append.batch.expected_seq).then_some(AppendError::Moved { run_id, last_seq }))
    }

    /// Whether a commit whose answer was lost did happen: it did if the log has our last event with our hash.
    async fn is_committed(&self, append: &Append) -> Result<bool, StoreError> {
        let Some(last) = append.batch.events.last() else { return Ok(false) };
        Ok(self.hash_at(last.run_id, last.seq).await? == Some(last.hash))
    }
}

fn stage(append: &Append) -> Stage {
    match append.batch.events.iter().all(|event| event.fact.is_work()) {
        _ if append.batch.expected_seq == 0 => Stage::Created,
        true => Stage::Working,
        false => Stage::Changed,
    }
}

/// The state of the run's job, and whether the job keeps its lease.
pub(crate) fn job_state(rows: &Rows) -> (&'static str, bool) {
    match rows.run.status {
        status if status.is_live() => ("live", true),
        _ if rows.checking => ("live", true),
        Status::Paused => ("held", true),
        _ if rows.wake_at.is_some() => ("live", false),
        _ => ("idle", false),
    }
}

fn job_statement(append: &Append, stage: Stage) -> Statement {
    let run = &append.rows.run;
    let (state, keeps_lease) = job_state(&append.rows);
    let state = Value::from(state);
    let unit = Value::from(i64::from(run.iteration));
    let last_seq = Value::from(append.batch.events.last().map_or(append.batch.expected_seq, |event| event.seq));
    if stage == Stage::Created {
        let epoch = i64::from(append.claim_for.is_some());
        let held_for = append.claim_for.is_some().then_some(FIRST_LEASE.as_millis() as i64);
        let kind = Value::from(run.kind.name());
        let owner = Value::from(append.claim_for.clone());
        return Statement::new(
            INSERT_JOB,
            vec![
                id(run.id),
                kind,
                state,
                unit,
                last_seq,
                owner,
                Value::from(held_for),
                Value::from(epoch),
                optional_id(run.agent_id),
                id(run.owner),
            ],
        );
    }
    let mut values = vec![unit, last_seq, id(run.id), Value::from(append.batch.expected_seq)];
    let fence = append.fence.iter().flat_map(|lease| [Value::from(lease.epoch), Value::from(lease.worker.as_str())]);
    if append.fence.is_some() && stage == Stage::Working {
        values.extend(fence);
        return Statement::new(CONTINUE_JOB, values);
    }
    values.insert(0, state);
    values.extend([Value::from(append.rows.wake_at.map(|at| at.0)), Value::from(i64::from(keeps_lease))]);
    values.extend(fence);
    Statement::new(if append.fence.is_some() { ADVANCE_BY_DRIVER } else { ADVANCE_BY_COMMAND }, values)
}

fn blobs(run_id: RunId, blobs: &[&Blob]) -> Vec<Statement> {
    if blobs.is_empty() {
        return Vec::new();
    }
    let bodies = blobs.iter().map(|blob| vec![Value::from(blob.hash.0.to_vec()), Value::from(codec::pack(&blob.text))]);
    let references = blobs.iter().map(|blob| vec![id(run_id), Value::from(blob.hash.0.to_vec())]);
    vec![
        Statement::many("INSERT INTO blobs (hash, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING", bodies.collect()),
        Statement::many(
            "INSERT INTO blob_refs (run_id, hash) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            references.collect(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::sql::Row;
    use crate::sqlite::Sqlite;
    use crate::{Engine, FileClock};
    use async_trait::async_trait;
    use engine::actor::Actor;
    use engine::batch::Batch;
    use engine::projection;
    use engine::run::{Command, Lane, Run};
    use runtime::ports::{DEFAULT_ITEMS_PER_PROJECT, Log};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU8, Ordering};
    use std::time::Duration;

    /// A backend that loses the connection at a commit, before or after the commit happened.
    struct Flaky(Sqlite, Arc<AtomicU8>);

    const FINE: u8 = 0;
    const LOST_BEFORE: u8 = 1;
    const LOST_AFTER: u8 = 2;

    #[async_trait]
    impl Backend for Flaky {
        async fn write(&self, batch: Vec<Statement>) -> Result<Vec<Vec<Row>>, WriteError> {
            let lost = || Err(WriteError::Unknown("cut".into()));
            match self.1.swap(FINE, Ordering::SeqCst) {
                LOST_BEFORE => lost(),
                LOST_AFTER => self.0.write(batch).await.and_then(|_| lost()),
                _ => self.0.write(batch).await,
            }
        }
        async fn read(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
            self.0.read(query).await
        }
        fn lock_table(&self, table: &'static str) -> String {
            self.0.lock_table(table)
        }
        fn send_hint(&self) {}
        async fn wait_for_hint(&self, at_most: Duration) {
            self.0.wait_for_hint(at_most).await;
        }
    }

    fn run() -> Run {
        let spec = serde_json::json!({"provider": "p", "model": "m", "contextWindow": 1000, "maxOutput": 100});
        let id = uuid::Uuid::from_u128(1);
        let brief = serde_json::json!({
            "kind": "homework", "objective": "o", "scope": "global", "projectIds": [], "successCriteria": [], "tools": [],
            "budgets": engine::budget::Budgets::default(), "models": {"fast": spec, "balanced": spec, "powerful": spec},
            "owner": id, "workspaceProjectId": id,
        });
        Run::create(id.into(), serde_json::from_value(brief).unwrap(), Actor::Platform, Timestamp(1)).unwrap()
    }

    fn drafted(run: &mut Run) -> Append {
        let batch: Batch = run.take_batch();
        let rows = projection::rows(run, &batch.events);
        Append { batch, rows, fence: None, claim_for: None }
    }

    async fn appended_once(fault: u8) {
        let switch = Arc::new(AtomicU8::new(FINE));
        let backend = Flaky(Sqlite::inline(None, Arc::new(FileClock::default())).unwrap(), switch.clone());
        let store =
            SqlStore::prepare(Box::new(backend), Engine::Sqlite, "memory", DEFAULT_ITEMS_PER_PROJECT).await.unwrap();
        let mut run = run();
        store.append(drafted(&mut run)).await.unwrap();
        run.command(
            Command::Say { text: "hello".into(), node: None, lane: Lane::Queue },
            Actor::Platform,
            Timestamp(2),
        )
        .unwrap();
        switch.store(fault, Ordering::SeqCst);
        store.append(drafted(&mut run)).await.unwrap();
        assert_eq!(store.events(run.shared.id, 0, 10).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_commit_that_was_cut_off_before_it_happened_is_made_again() {
        appended_once(LOST_BEFORE).await;
    }

    #[tokio::test]
    async fn a_commit_that_happened_unheard_is_found_in_the_log() {
        appended_once(LOST_AFTER).await;
    }
}
