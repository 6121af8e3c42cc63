//! The SQLite backend: one writer thread with group commit and a few readers, or one connection without threads for the
//! simulation. It must not know any table.

pub(crate) mod checksums;
mod execute;
mod readers;
pub(crate) mod schema;
pub(crate) mod wal;
mod writer;

use crate::backend::{Backend, WriteError};
use crate::sql::{Row, Statement};
use crate::{StoreError, migrate};
use async_trait::async_trait;
use execute::{Failed, translate};
use readers::Readers;
use runtime::ports::Clock;
use rusqlite::backup::Backup;
use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, OpenFlags};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use writer::Writer;

/// SQLite before 3.51.3 can corrupt a database when the write-ahead log is reset while another connection writes.
const OLDEST_VERSION: i32 = 3_051_003;
const BUSY: Duration = Duration::from_secs(5);
/// The write-ahead log is truncated to this size when it is reset after a checkpoint.
const LOG_LIMIT: i64 = 64 << 20;
/// A checkpoint runs when the write-ahead log has this many pages. SQLite's default is 1,000. A page that many commits
/// touch is written to the file once per checkpoint, so fewer checkpoints write less.
const CHECKPOINT_PAGES: i64 = 4_000;
/// The page size of a new database; SQLite's default is 4,096. A commit writes whole pages, one or two of each table
/// and index that it touches, and its rows are small.
const PAGE: i64 = 2_048;
const STATEMENTS: usize = 256;

pub(crate) enum Sqlite {
    /// Fields drop in this order. The writer must close last: the last connection to close runs the final checkpoint,
    /// and a read-only connection cannot.
    Threaded {
        readers: Readers,
        writer: Writer,
    },
    /// Everything runs in the calling task, in the order of the calls, for the simulation.
    Inline(Mutex<Connection>),
    ReadOnly(Readers),
}

impl Sqlite {
    pub(crate) fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Sqlite, StoreError> {
        create_private(path);
        let connection = writable(Connection::open(path), path, &clock)?;
        copy_before_migration(&connection, path)?;
        let readers = Readers::new(path.to_owned(), clock);
        Ok(Sqlite::Threaded { writer: Writer::start(connection)?, readers })
    }

    pub(crate) fn inline(path: Option<&Path>, clock: Arc<dyn Clock>) -> Result<Sqlite, StoreError> {
        let opened = path.map_or_else(Connection::open_in_memory, Connection::open);
        let connection = writable(opened, path.unwrap_or(Path::new(":memory:")), &clock)?;
        Ok(Sqlite::Inline(Mutex::new(connection)))
    }

    /// A copy of this inline database in memory, with another clock.
    pub(crate) fn copy_to_memory(&self, clock: Arc<dyn Clock>) -> Result<Sqlite, StoreError> {
        let Sqlite::Inline(source) = self else {
            return Err(StoreError::Unusable("only an inline database can be copied".into()));
        };
        let source = source.lock().unwrap_or_else(PoisonError::into_inner);
        let mut copy = writable(Connection::open_in_memory(), Path::new(":memory:"), &clock)?;
        Backup::new(&source, &mut copy).and_then(|backup| backup.step(-1)).map_err(|error| translate(&error))?;
        Ok(Sqlite::Inline(Mutex::new(copy)))
    }

    /// `None` when there is no database at the path.
    pub(crate) fn open_read_only(path: &Path, clock: Arc<dyn Clock>) -> Result<Option<Sqlite>, StoreError> {
        if !path.exists() {
            return Ok(None);
        }
        let connection = readable(path, &clock)?;
        let known = "SELECT count(*) FROM sqlite_master WHERE name = 'schema_migrations'";
        let known: i64 = connection.query_row(known, [], |row| row.get(0)).map_err(|error| with_path(path, &error))?;
        Ok((known > 0).then(|| Sqlite::ReadOnly(Readers::new(path.to_owned(), clock))))
    }
}

/// Creates the file with mode 600, so that only its owner may read it. SQLite gives the write-ahead log the same mode.
fn create_private(path: &Path) {
    let private = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    // An existing file keeps its mode. If the file cannot be created, opening it fails next and names it.
    drop(private);
}

/// Configures the connection that writes. `synchronous = FULL` makes every commit fsync the write-ahead log.
fn writable(
    opened: rusqlite::Result<Connection>,
    path: &Path,
    clock: &Arc<dyn Clock>,
) -> Result<Connection, StoreError> {
    refuse_old_version()?;
    let prepare = |connection: &Connection| -> rusqlite::Result<()> {
        // The page size comes first: it cannot change once the database is in WAL mode.
        connection.pragma_update(None, "page_size", PAGE)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "journal_size_limit", LOG_LIMIT)?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        // Keeps the undo journal of savepoints in memory. Otherwise every group commit would create a temporary file.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        configure(connection, clock)
    };
    let connection = opened.map_err(|error| with_path(path, &error))?;
    prepare(&connection).map_err(|error| with_path(path, &error))?;
    Ok(connection)
}

/// Before a file of an earlier version is migrated, a copy is made beside it: `pleach.db.v13`. Whoever must go back to the
/// earlier program moves the copy to the file's place.
fn copy_before_migration(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let Some(version) = migrate::outdated_version(connection).map_err(|error| with_path(path, &error))? else {
        return Ok(());
    };
    let beside = |suffix: &str| PathBuf::from(format!("{}.v{version}{suffix}", path.display()));
    let (copy, partial) = (beside(""), beside(".partial"));
    if copy.exists() {
        return Ok(());
    }
    // An interrupted attempt may have left one.
    let _ = std::fs::remove_file(&partial);
    create_private(&partial);
    let copied = connection.execute("VACUUM INTO ?1", [partial.to_string_lossy()]);
    copied.map_err(|error| with_path(&partial, &error))?;
    let synced = std::fs::File::open(&partial).and_then(|file| file.sync_all());
    synced.and_then(|()| std::fs::rename(&partial, &copy)).map_err(|error| {
        StoreError::Unavailable(format!("{}: the copy before the migration was not written: {error}", copy.display()))
    })?;
    tracing::info!(copy = %copy.display(), version, "copied the database before its migration");
    Ok(())
}

/// Opens a read-only connection. It reads the write-ahead log too.
fn readable(path: &Path, clock: &Arc<dyn Clock>) -> Result<Connection, StoreError> {
    refuse_old_version()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| with_path(path, &error))?;
    configure(&connection, clock).map_err(|error| with_path(path, &error))?;
    Ok(connection)
}

fn configure(connection: &Connection, clock: &Arc<dyn Clock>) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Query plans must not depend on bound values. Otherwise SQLite compiles every statement that may use a partial
    // index again at each execution.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    checksums::register(connection)?;
    let clock = clock.clone();
    connection.create_scalar_function("now_ms", 0, FunctionFlags::SQLITE_UTF8, move |_| Ok(clock.now().0))
}

fn refuse_old_version() -> Result<(), StoreError> {
    if rusqlite::version_number() >= OLDEST_VERSION {
        return Ok(());
    }
    Err(StoreError::Unusable(format!("SQLite {} can damage databases; 3.51.3 or newer is needed", rusqlite::version())))
}

/// The error, with the path of the file.
fn with_path(path: &Path, error: &rusqlite::Error) -> StoreError {
    match translate(error) {
        StoreError::Unusable(what) => StoreError::Unusable(format!("{}: {what}", path.display())),
        StoreError::Unavailable(what) => StoreError::Unavailable(format!("{}: {what}", path.display())),
        StoreError::Busy(what) => StoreError::Busy(format!("{}: {what}", path.display())),
        StoreError::Full(what) => StoreError::Full(format!("{}: {what}", path.display())),
    }
}

#[async_trait]
impl Backend for Sqlite {
    async fn write(&self, batch: Vec<Statement>) -> Result<Vec<Vec<Row>>, WriteError> {
        match self {
            Sqlite::Threaded { writer, .. } => writer.write(batch).await,
            Sqlite::Inline(connection) => {
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                match execute::commit(&connection, &[&batch]) {
                    Ok(mut outcomes) => outcomes.remove(0).map_err(WriteError::Refused),
                    Err(Failed::Flush(error) | Failed::Store(error)) => Err(WriteError::Store(error)),
                }
            }
            Sqlite::ReadOnly(_) => {
                Err(WriteError::Store(StoreError::Unusable("the database was opened for reading only".into())))
            }
        }
    }

    async fn read(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
        match self {
            Sqlite::Threaded { readers, .. } | Sqlite::ReadOnly(readers) => readers.read(query).await,
            Sqlite::Inline(connection) => {
                execute::read(&connection.lock().unwrap_or_else(PoisonError::into_inner), &query)
            }
        }
    }

    async fn read_inline(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
        match self {
            Sqlite::Threaded { readers, .. } | Sqlite::ReadOnly(readers) => readers.read_inline(&query).await,
            Sqlite::Inline(_) => self.read(query).await,
        }
    }

    async fn self_check(&self, quick: bool) -> Result<Vec<String>, StoreError> {
        let pragma = if quick { "PRAGMA quick_check(20)" } else { "PRAGMA integrity_check(20)" };
        let found = self.read(Statement::new(pragma, vec![])).await?;
        let mut wrong: Vec<String> = Vec::new();
        for row in found.iter().filter(|row| row.text(0).is_ok_and(|text| text != "ok")) {
            wrong.push(format!("the file is damaged: {}", row.text(0)?));
        }
        wrong.extend(checksums::check(self).await?);
        Ok(wrong)
    }

    /// SQLite has only one writer, so no lock is needed.
    fn lock_table(&self, _table: &'static str) -> String {
        "SELECT 1".into()
    }

    /// Other processes send their requests to this one, so there is nobody to tell.
    fn send_hint(&self) {}

    async fn wait_for_hint(&self, at_most: Duration) {
        tokio::time::sleep(at_most).await;
    }
}

/// `sqlite://path`, or a bare path.
pub(crate) fn path_of(url: &str) -> PathBuf {
    PathBuf::from(url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:")).unwrap_or(url))
}
