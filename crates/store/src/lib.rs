//! The database. `SqlStore` implements the ports `Log` and `Library` of `runtime`, and what only the server needs:
//! credentials, members, webhooks, maintenance. It must not know what an event means.
//!
//! Each query is written once, in SQL that both databases accept (`sql`). A write is a batch of statements, and a
//! backend runs the batch in one transaction (`backend`). Apart from opening, migrating and copying a database, only
//! `sqlite`, `postgres` and `sql::dialect` know that there are two.

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
pub mod credentials;
mod documents;
mod lessons;
mod library;
mod log;
mod maintenance;
pub mod members;
mod migrate;
pub mod notifications;
mod platform_search;
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
pub use runs::LastDriven;
pub use runtime::ports::StoreError;
pub use tree::NodeFilter;

use backend::Backend;
use engine::ids;
use engine::time::Timestamp;
use runtime::ports::{Clock, DEFAULT_ITEMS_PER_PROJECT, LOCAL_HANDLE, Library, local_person};
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
    /// The URL of PostgreSQL without a pooler in between. `LISTEN` needs a session of its own, which a pooler in
    /// transaction mode does not give.
    pub direct_url: Option<String>,
    /// The most documents and tasks, counted together, that a project may have.
    pub project_items: u64,
    /// The environment. The variables that libpq reads, such as `PGPASSWORD`, are read here too.
    pub variables: Variables,
    /// How long `open` waits for a PostgreSQL server that is starting up or recovering.
    pub startup_wait: Duration,
    /// Called once, with the server's message, when `open` begins to wait.
    pub on_wait: fn(&str),
}

impl Default for Options {
    fn default() -> Options {
        Options {
            direct_url: None,
            project_items: DEFAULT_ITEMS_PER_PROJECT,
            variables: Variables::new(),
            startup_wait: Duration::ZERO,
            on_wait: |_| {},
        }
    }
}

/// The clock of a SQLite database: wall time that never goes back while the process lives. A run that was due stays due
/// when somebody sets the system clock back.
#[derive(Default)]
struct FileClock(AtomicI64);

impl Clock for FileClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.fetch_max(now, Ordering::Relaxed).max(now))
    }
}

/// Opens `postgres://…`, `sqlite://path` or a path. It creates and migrates the database, and creates the local person.
///
/// On SQLite the caller must hold the data directory, because every lease in the file is cleared.
pub async fn open(url: &str, options: Options) -> Result<Arc<SqlStore>, StoreError> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let backend = postgres::Postgres::open(url, &options).await?;
        return SqlStore::prepare(Box::new(backend), Engine::Postgres, "the database", options.project_items).await;
    }
    let path = sqlite::path_of(url);
    let backend = sqlite::Sqlite::open(&path, Arc::new(FileClock::default()))?;
    let place = path.display().to_string();
    let store = SqlStore::prepare(Box::new(backend), Engine::Sqlite, &place, options.project_items).await?;
    sqlite::checksums::install(store.backend.as_ref()).await?;
    Ok(store)
}

/// What is wrong with the write-ahead log of a SQLite file. No process may have the file open.
pub fn log_damage(log: &Path) -> Option<String> {
    sqlite::wal::damage(log)
}

/// Opens a SQLite file for reading; nothing is created or migrated. `None` when there is no database at that path.
pub async fn open_read_only(path: &Path) -> Result<Option<Arc<SqlStore>>, StoreError> {
    let Some(backend) = sqlite::Sqlite::open_read_only(path, Arc::new(FileClock::default()))? else { return Ok(None) };
    migrate::require_current(&backend, &path.display().to_string()).await?;
    Ok(Some(Arc::new(SqlStore::new(Box::new(backend), DEFAULT_ITEMS_PER_PROJECT))))
}

/// Opens SQLite on the given clock, in a file or in memory, without threads. Every call finishes before it returns to
/// the executor, so a simulation controls order and time.
pub async fn open_inline(path: Option<&Path>, clock: Arc<dyn Clock>) -> Result<Arc<SqlStore>, StoreError> {
    let (backend, place) = match path {
        Some(path) => (sqlite::Sqlite::inline(Some(path), clock)?, path.display().to_string()),
        None => (migrate::in_memory(clock)?, "memory".into()),
    };
    SqlStore::prepare(Box::new(backend), Engine::Sqlite, &place, DEFAULT_ITEMS_PER_PROJECT).await
}

impl SqlStore {
    fn new(backend: Box<dyn Backend>, project_items: u64) -> SqlStore {
        SqlStore {
            backend,
            work_available: Notify::new(),
            blob_cache: blob_cache::BlobCache::default(),
            quota_cache: quota_cache::QuotaCache::of(project_items),
        }
    }

    async fn prepare(
        backend: Box<dyn Backend>,
        engine: Engine,
        place: &str,
        project_items: u64,
    ) -> Result<Arc<SqlStore>, StoreError> {
        migrate::migrate(backend.as_ref(), engine, place).await?;
        if maintenance::is_unfinished(backend.as_ref()).await? {
            return Err(StoreError::Unusable(
                "a copy into this database did not finish; copy again, or drop the database".into(),
            ));
        }
        let store = SqlStore::new(backend, project_items);
        if engine == Engine::Sqlite {
            store.expire_all_leases().await?;
        }
        if store.actor(LOCAL_HANDLE).await?.is_none() {
            store.create_local().await?;
        }
        store.rebuild_after_migration().await?;
        Ok(Arc::new(store))
    }

    /// Clears every lease. One process holds the file, so no lease of another process can be valid.
    ///
    /// The clock may have been set back since the file was last open. A queued or running run waits for nobody, so it
    /// is made due now, whatever time its row has.
    async fn expire_all_leases(&self) -> Result<(), StoreError> {
        let expire = "UPDATE jobs SET lease_owner = NULL, lease_until = NULL WHERE lease_owner IS NOT NULL";
        let due = format!(
            "UPDATE jobs SET due = now_ms() WHERE state = 'live' AND lease_owner IS NULL AND due > now_ms() AND run_id IN \
             (SELECT id FROM ({}) r WHERE r.status IN ('queued', 'running'))",
            *tables::ALL_RUNS
        );
        let statements = vec![Statement::new(expire, vec![]), Statement::new(due, vec![])];
        self.backend.write(statements).await.map_err(log::into_store_error)?;
        Ok(())
    }

    async fn create_local(&self) -> Result<(), StoreError> {
        let now = self.now().await?;
        let local = local_person(now, ids::derive(now, &[LOCAL_HANDLE.as_bytes()]).into());
        match self.create_actor(local).await {
            // Another process created it between our read and our write.
            Err(StoreError::Unusable(_)) if self.actor(LOCAL_HANDLE).await?.is_some() => Ok(()),
            created => created,
        }
    }

    /// The time by the database's clock, which is the only clock that all processes share.
    pub(crate) async fn now(&self) -> Result<Timestamp, StoreError> {
        let rows = self.backend.read(Statement::new("SELECT now_ms()", vec![])).await?;
        let row = rows.first().ok_or_else(|| StoreError::Unusable("the database did not tell the time".into()))?;
        row.int(0).map(Timestamp)
    }
}
