//! Migrations: bring a database to the schema of this version, and refuse one that is newer.
//!
//! The text of a migration must never change, comments included. Each database stores the hash of the text it was made
//! by, and refuses another one.

use crate::backend::{Backend, WriteError};
use crate::log::into_store_error;
use crate::sql::{Guard, Statement, Value};
use crate::sqlite::Sqlite;
use crate::{Engine, FileClock, StoreError, maintenance};
use engine::blob::Hash;
use futures::FutureExt;
use runtime::ports::Clock;
use std::sync::{Arc, OnceLock};

struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

/// In the order of their versions. The numbers need not be consecutive.
const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "homework", sql: include_str!("../migrations/0001_homework.sql") },
    Migration { version: 2, name: "tree", sql: include_str!("../migrations/0002_tree.sql") },
    Migration { version: 3, name: "access", sql: include_str!("../migrations/0003_access.sql") },
    Migration { version: 4, name: "notifications", sql: include_str!("../migrations/0004_notifications.sql") },
    Migration { version: 5, name: "front", sql: include_str!("../migrations/0005_front.sql") },
    Migration { version: 6, name: "agents", sql: include_str!("../migrations/0006_agents.sql") },
    Migration { version: 7, name: "projects", sql: include_str!("../migrations/0007_projects.sql") },
    Migration { version: 8, name: "lessons", sql: include_str!("../migrations/0008_lessons.sql") },
    Migration { version: 9, name: "members", sql: include_str!("../migrations/0009_members.sql") },
    Migration { version: 10, name: "credentials", sql: include_str!("../migrations/0010_credentials.sql") },
    Migration { version: 12, name: "claims_by_owner", sql: include_str!("../migrations/0012_claims_by_owner.sql") },
    Migration { version: 13, name: "database_notes", sql: include_str!("../migrations/0013_database_notes.sql") },
    Migration { version: 14, name: "commits", sql: include_str!("../migrations/0014_commits.sql") },
    Migration { version: 15, name: "outcome", sql: include_str!("../migrations/0015_outcome.sql") },
    Migration { version: 16, name: "current_and_stale", sql: include_str!("../migrations/0016_current_and_stale.sql") },
];

/// What all migrations together make on SQLite, with the columns for checksums. A new file is made by this text, which takes
/// a third of the time. `BLESS=1 cargo nextest run -p store schema_of_a_new_file` writes it anew.
const SQLITE_SCHEMA: &str = include_str!("../migrations/sqlite.sql");

const HISTORY: &str = "CREATE TABLE IF NOT EXISTS schema_migrations \
    (version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)";

/// What `json_each` of SQLite gives of the same array.
const JSON_EACH: &str = "LATERAL (SELECT value, ordinality - 1 AS key FROM \
    json_array_elements(CAST(c.events AS json)) WITH ORDINALITY)";

impl Migration {
    fn checksum(&self) -> String {
        Hash::of(&[self.sql.as_bytes()]).to_string()
    }

    /// The row in `schema_migrations`. It comes first and is guarded: when two processes open a new database at the same
    /// time, the second is refused there and does not apply the migration again.
    fn record(&self) -> Statement {
        let record = "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (?1, ?2, ?3, now_ms()) ON CONFLICT DO NOTHING";
        let values = vec![Value::from(self.version), Value::from(self.name), Value::from(self.checksum())];
        Statement::new(record, values).guarded(Guard::Head)
    }

    fn statements(&self, engine: Engine) -> Vec<Statement> {
        let mut statements = vec![self.record()];
        if engine == Engine::Postgres {
            // A worker of an earlier version may write to the table until the moment it is dropped.
            let dropped = self.sql.lines().filter_map(|line| line.strip_prefix("DROP TABLE ")?.strip_suffix(';'));
            let lock = |table| Statement::new(format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"), vec![]);
            statements.extend(dropped.map(lock));
        }
        statements.extend(parts(self.sql).map(|part| Statement::new(engine.ddl(&part), vec![])));
        statements
    }
}

/// The statements of a text. It is split at semicolons, so none may stand inside a literal.
fn parts(sql: &str) -> impl Iterator<Item = String> {
    let lines = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let parts: Vec<String> = text.split(';').map(|part| part.trim().to_owned()).collect();
    parts.into_iter().filter(|part| !part.is_empty())
}

fn new_file() -> Vec<Statement> {
    let records = MIGRATIONS.iter().map(Migration::record);
    records.chain(parts(SQLITE_SCHEMA).map(|part| Statement::new(part, vec![]))).collect()
}

impl Engine {
    fn ddl(self, sql: &str) -> String {
        match self {
            Engine::Sqlite => sql.to_owned(),
            Engine::Postgres => sql
                .replace(" BLOB", " BYTEA")
                .replace(" WITHOUT ROWID", "")
                .replace("lower(hex(hash))", "encode(hash, 'hex')")
                .replace("json_each(c.events)", JSON_EACH),
        }
    }
}

/// A database that was in use before gets a note, in the transaction of its last migration, that its projections are to be
/// written again. What a run's row says follows from its log, and this version may say more than the one before.
pub(crate) async fn migrate(backend: &dyn Backend, engine: Engine, place: &str) -> Result<(), StoreError> {
    create_history(backend).await?;
    let applied = check(backend, place).await?;
    let missing = MIGRATIONS.iter().filter(|migration| migration.version > applied);
    let mut batches: Vec<_> = match engine {
        Engine::Sqlite if applied == 0 => vec![new_file()],
        _ => missing.map(|migration| migration.statements(engine)).collect(),
    };
    if let Some(last) = batches.last_mut().filter(|_| applied > 0) {
        last.push(maintenance::rebuild_note());
    }
    for batch in batches {
        match backend.write_long(batch).await {
            Ok(_) | Err(WriteError::Refused(_)) => {}
            Err(error) => return Err(into_store_error(error)),
        }
    }
    Ok(())
}

/// A migrated database in memory. The first one is kept as a template that the others copy: migrating was measured at
/// 11 ms and copying at 0.2 ms, and a simulation opens a database for each of thousands of seeds.
pub(crate) fn in_memory(clock: Arc<dyn Clock>) -> Result<Sqlite, StoreError> {
    static TEMPLATE: OnceLock<Result<Sqlite, StoreError>> = OnceLock::new();
    let template = TEMPLATE.get_or_init(|| {
        let template = Sqlite::inline(None, Arc::new(FileClock::default()))?;
        let migrated = migrate(&template, Engine::Sqlite, "memory").now_or_never();
        migrated.expect("SQLite without threads finishes in one poll").map(|_| template)
    });
    template.as_ref().map_err(Clone::clone)?.copy_to_memory(clock)
}

/// Two processes may create the table at the same time. PostgreSQL then fails one of them in spite of `IF NOT EXISTS`,
/// and the second attempt finds the table.
async fn create_history(backend: &dyn Backend) -> Result<(), StoreError> {
    let create = || backend.write(vec![Statement::new(HISTORY, vec![])]);
    if create().await.is_ok() {
        return Ok(());
    }
    create().await.map(drop).map_err(into_store_error)
}

/// The newest applied version. It is an error if this program does not know a version, or knows it with another text.
pub(crate) async fn check(backend: &dyn Backend, place: &str) -> Result<i64, StoreError> {
    let query = Statement::new("SELECT version, name, checksum FROM schema_migrations ORDER BY version", vec![]);
    let mut applied = 0;
    for row in backend.read(query).await? {
        applied = row.int(0)?;
        let Some(known) = MIGRATIONS.iter().find(|migration| migration.version == applied) else {
            return Err(StoreError::Unusable(format!(
                "{place} has schema version {applied}, and this program knows up to {}; use the newer program",
                newest()
            )));
        };
        if (known.name, known.checksum().as_str()) != (row.text(1)?, row.text(2)?) {
            return Err(StoreError::Unusable(format!(
                "{place}: schema version {applied} ({}) was made by another build than this one; use that build, or start a new database",
                known.name
            )));
        }
    }
    Ok(applied)
}

/// The newest applied version of a SQLite file, if this program would migrate it.
pub(crate) fn outdated_version(connection: &rusqlite::Connection) -> rusqlite::Result<Option<i64>> {
    if !connection.table_exists(None, "schema_migrations")? {
        return Ok(None);
    }
    let applied = "SELECT COALESCE(MAX(version), 0) FROM schema_migrations";
    let applied: i64 = connection.query_row(applied, [], |row| row.get(0))?;
    Ok((0 < applied && applied < newest()).then_some(applied))
}

/// Refuses to work beside a newer program that has migrated this database.
pub(crate) async fn refuse_newer(backend: &dyn Backend) -> Result<(), StoreError> {
    let query = Statement::new("SELECT MAX(version) FROM schema_migrations", vec![]);
    match backend.read_inline(query).await?.first().map(|row| row.int(0)).transpose()? {
        Some(applied) if applied > newest() => Err(StoreError::Unusable(format!(
            "a newer program has migrated the database to schema version {applied}, and this one knows up to {}; its runs \
             are left to the newer program. Stop this one",
            newest()
        ))),
        _ => Ok(()),
    }
}

fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// Checks the schema for a caller that must not migrate.
pub(crate) async fn require_current(backend: &dyn Backend, place: &str) -> Result<(), StoreError> {
    match check(backend, place).await? {
        applied if applied < newest() => Err(StoreError::Unusable(format!(
            "{place} has schema version {applied}, older than {}; starting a server or a run on it brings it up to date",
            newest()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::checksums;

    const SCHEMA: &str = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'schema_migrations' \
        ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'view' THEN 1 ELSE 2 END, name";

    async fn schema(batches: Vec<Vec<Statement>>) -> String {
        let file = Sqlite::inline(None, Arc::new(FileClock::default())).unwrap();
        create_history(&file).await.unwrap();
        for batch in batches {
            file.write(batch).await.unwrap();
        }
        checksums::install(&file).await.unwrap();
        let found = file.read(Statement::new(SCHEMA, vec![])).await.unwrap();
        found.iter().map(|row| format!("{};\n", row.text(0).unwrap())).collect()
    }

    #[tokio::test]
    async fn the_schema_of_a_new_file_is_what_the_migrations_make() {
        let migrated = schema(MIGRATIONS.iter().map(|step| step.statements(Engine::Sqlite)).collect()).await;
        if std::env::var_os("BLESS").is_some() {
            let text = format!("-- What the migrations make, written by the test that compares the two.\n{migrated}");
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite.sql"), text).unwrap();
            return;
        }
        assert_eq!(schema(vec![new_file()]).await, migrated);
    }
}
