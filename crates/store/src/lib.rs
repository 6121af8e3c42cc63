//! The store on SQL: the loop's `Log` and `Library`, written once and run by SQLite or PostgreSQL.
//!
//! Everything is statements in guarded batches (`sql`), and a backend runs a batch in one transaction
//! (`backend`). Only `sqlite`, `postgres` and `sql::dialect` know that there are two databases.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod actors;
mod agent_queue;
mod agents;
mod append;
mod backend;
mod blob_cache;
mod changes;
mod claims;
mod codec;
mod commits;
mod documents;
pub mod keys;
mod lessons;
mod library;
mod log;
mod maintenance;
pub mod members;
mod migrate;
pub mod notifications;
mod postgres;
mod quota_cache;
mod records;
mod removal;
mod rows;
mod runs;
mod scope;
mod sql;
mod sqlite;
mod tables;
mod traces;
mod tree;
mod workspace;

pub use documents::DocumentVersion;
pub use lessons::Lesson;
pub use maintenance::{Anchor, AnchorMismatch, Copied, Damage, Depth, Examination, LogCheck, Pruned, copy};
pub use postgres::Variables;
pub use removal::Removed;
pub use runtime::ports::StoreError;
pub use tree::NodeFilter;

use backend::Backend;
use engine::ids;
use engine::time::Timestamp;
use runtime::ports::{Clock, LOCAL_HANDLE, Library, PROJECT_ITEMS, local_person};
use sql::Statement;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

pub struct SqlStore {
    backend: Box<dyn Backend>,
    work_available: Notify,
    blob_cache: blob_cache::BlobCache,
    quota_cache: quota_cache::QuotaCache,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    Sqlite,
    Postgres,
}

#[derive(Clone)]
pub struct Options {
    /// PostgreSQL without a pooler in between: the only kind of connection that can listen.
    pub direct_url: Option<String>,
    /// How many documents and tasks a project has at most.
    pub project_items: u64,
    /// The environment: how PostgreSQL is reached may be said there, as for other clients of it.
    pub variables: Variables,
    /// How long a PostgreSQL that is starting up or recovering is waited for.
    pub startup_wait: Duration,
    /// Told once, with the server's own words, when it is waited for.
    pub on_wait: fn(&str),
}

impl Default for Options {
    fn default() -> Options {
        Options {
            direct_url: None,
            project_items: PROJECT_ITEMS,
            variables: Variables::new(),
            startup_wait: Duration::ZERO,
            on_wait: |_| {},
        }
    }
}

/// The clock of a SQLite file: wall time that never goes back while the process lives, so that what is due stays due.
#[derive(Default)]
struct FileClock(AtomicI64);

impl Clock for FileClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.fetch_max(now, Ordering::Relaxed).max(now))
    }
}

/// `postgres://…`, `sqlite://path` or a path. Creates, migrates, and makes sure that there is a local person.
///
/// On SQLite the caller must hold the data directory: every lease found is taken to have lapsed.
pub async fn open(url: &str, options: Options) -> Result<Arc<SqlStore>, StoreError> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let backend = postgres::Postgres::open(url, &options).await?;
        return SqlStore::ready(Box::new(backend), Engine::Postgres, "the database", options.project_items).await;
    }
    let path = sqlite::path_of(url);
    let backend = sqlite::Sqlite::open(&path, Arc::new(FileClock::default()))?;
    let place = path.display().to_string();
    let store = SqlStore::ready(Box::new(backend), Engine::Sqlite, &place, options.project_items).await?;
    sqlite::checksums::install(store.backend.as_ref()).await?;
    Ok(store)
}

/// What is wrong with the write-ahead log of a SQLite file that nobody holds.
pub fn log_damage(log: &Path) -> Option<String> {
    sqlite::wal::damage(log)
}

/// Look, never touch: `None` when there is no database at that path yet.
pub async fn open_read_only(path: &Path) -> Result<Option<Arc<SqlStore>>, StoreError> {
    let Some(backend) = sqlite::Sqlite::open_read_only(path, Arc::new(FileClock::default()))? else { return Ok(None) };
    migrate::require_current(&backend, &path.display().to_string()).await?;
    Ok(Some(Arc::new(SqlStore::over(Box::new(backend), PROJECT_ITEMS))))
}

/// SQLite in the calling task, on the given clock, in a file or in memory: every answer is there when it is
/// asked for, so a simulation stays in control of order and time.
pub async fn open_inline(path: Option<&Path>, clock: Arc<dyn Clock>) -> Result<Arc<SqlStore>, StoreError> {
    let (backend, place) = match path {
        Some(path) => (sqlite::Sqlite::inline(Some(path), clock)?, path.display().to_string()),
        None => (migrate::in_memory(clock)?, "memory".into()),
    };
    SqlStore::ready(Box::new(backend), Engine::Sqlite, &place, PROJECT_ITEMS).await
}

impl SqlStore {
    fn over(backend: Box<dyn Backend>, project_items: u64) -> SqlStore {
        SqlStore {
            backend,
            work_available: Notify::new(),
            blob_cache: blob_cache::BlobCache::default(),
            quota_cache: quota_cache::QuotaCache::of(project_items),
        }
    }

    async fn ready(
        backend: Box<dyn Backend>,
        engine: Engine,
        place: &str,
        project_items: u64,
    ) -> Result<Arc<SqlStore>, StoreError> {
        migrate::migrate(backend.as_ref(), engine, place).await?;
        if maintenance::is_unfinished(backend.as_ref()).await? {
            return Err(StoreError::Unusable(
                "a copy into this database was cut off; copy again, or drop the database".into(),
            ));
        }
        let store = SqlStore::over(backend, project_items);
        if engine == Engine::Sqlite {
            store.lapse_all().await?;
        }
        if store.actor(LOCAL_HANDLE).await?.is_none() {
            store.create_local().await?;
        }
        Ok(Arc::new(store))
    }

    /// Whoever holds the file is alone: nobody else's lease can be alive. And the clock may have been set back since the file
    /// was held last: a run that waits for nobody is due now, whatever was written then.
    async fn lapse_all(&self) -> Result<(), StoreError> {
        let lapsed = "UPDATE jobs SET lease_owner = NULL, lease_until = NULL WHERE lease_owner IS NOT NULL";
        let due = format!(
            "UPDATE jobs SET due = now_ms() WHERE state = 'live' AND lease_owner IS NULL AND due > now_ms() AND run_id IN \
             (SELECT id FROM ({}) r WHERE r.status IN ('queued', 'running'))",
            *tables::ALL_RUNS
        );
        let statements = vec![Statement::new(lapsed, vec![]), Statement::new(due, vec![])];
        self.backend.write(statements).await.map_err(log::unguarded)?;
        Ok(())
    }

    async fn create_local(&self) -> Result<(), StoreError> {
        let now = self.now().await?;
        let local = local_person(now, ids::derive(now, &[LOCAL_HANDLE.as_bytes()]).into());
        match self.create_actor(local).await {
            // Another process was first.
            Err(StoreError::Unusable(_)) if self.actor(LOCAL_HANDLE).await?.is_some() => Ok(()),
            created => created,
        }
    }

    /// The database's clock.
    pub(crate) async fn now(&self) -> Result<Timestamp, StoreError> {
        let rows = self.backend.read(Statement::new("SELECT now_ms()", vec![])).await?;
        let row = rows.first().ok_or_else(|| StoreError::Unusable("the database has no clock".into()))?;
        row.int(0).map(Timestamp)
    }
}
