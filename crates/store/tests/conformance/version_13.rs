//! A database of version 13, which had one row per event: a tree, a homework run and a task as that version stored them
//! (`databases/version_13.sql`). After the migration its logs are the same to the byte.

use crate::migrations::postgres_schema;
use crate::played::raw;
use crate::world::{Database, Place, World, client};
use engine::ids::RunId;
use runtime::ports::{Log, StoreError};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{Depth, Options, SqlStore};

const DATABASE: &str = include_str!("databases/version_13.sql");
const MIGRATION: &str = include_str!("../../migrations/0014_commits.sql");

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    a_worker_of_version_13_cannot_write,
    a_worker_leaves_the_runs_of_a_newer_database_alone,
    the_views_show_one_row_per_event,
]);

/// run, seq, node, parent, type, time, actor, hash and payload of each event.
type Line = (String, i64, Option<String>, Option<String>, String, i64, String, String, String);

fn load(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA page_size = 2048; PRAGMA journal_mode = WAL").unwrap();
    connection.execute_batch(DATABASE).unwrap();
}

/// The logs as version 13 stored them.
fn expected(path: &Path) -> Vec<Line> {
    let connection = Connection::open(path).unwrap();
    let mut lines = Vec::new();
    for table in ["homework_run_events", "tree_agent_events", "agent_task_events"] {
        let sql = format!(
            "SELECT run_id, seq, node_id, parent_node_id, type, at, actor, lower(hex(hash)), payload FROM {table}"
        );
        let mut statement = connection.prepare(&sql).unwrap();
        let line = |row: &rusqlite::Row<'_>| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
                row.get(6)?,
                row.get(7)?,
                row.get(8)?,
            ))
        };
        lines.extend(statement.query_map([], line).unwrap().map(Result::unwrap));
    }
    lines.sort();
    assert!(lines.len() > 250, "three whole logs");
    lines
}

async fn check(store: &SqlStore, expected: &[Line]) {
    let mut runs: Vec<&str> = expected.iter().map(|line| line.0.as_str()).collect();
    runs.dedup();
    assert_eq!(runs.len(), 3);
    let mut stored: Vec<Line> = Vec::new();
    for run in runs {
        for event in store.events(run.parse().unwrap(), 0, usize::MAX).await.unwrap() {
            let id = |node: Option<engine::ids::NodeId>| node.map(|node| node.to_string());
            let actor = match event.actor {
                engine::actor::Actor::Platform => "platform".to_owned(),
                engine::actor::Actor::Person(id) => format!("person:{id}"),
                engine::actor::Actor::Subagent(id) => format!("subagent:{id}"),
            };
            stored.push((
                run.to_owned(),
                i64::try_from(event.seq).unwrap(),
                id(event.node_id),
                id(event.parent_node_id),
                event.kind,
                event.at.0,
                actor,
                event.hash.to_string(),
                event.payload,
            ));
        }
    }
    assert!(stored == expected, "the logs are the same to the byte");
    let found = store.examine(Depth::Full).await.unwrap();
    assert!(found.damage.is_empty(), "chains, texts and projections hold: {:?}", found.damage);
    assert_eq!(found.events, expected.len() as u64);
}

async fn open(path: &Path) -> Arc<SqlStore> {
    store::open(&format!("sqlite://{}", path.display()), Options::default()).await.expect("it opens")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_version_13_is_migrated_and_a_copy_of_it_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pleach.db");
    load(&path);
    let expected_lines = expected(&path);

    check(open(&path).await.as_ref(), &expected_lines).await;

    let copy = directory.path().join("pleach.db.v13");
    assert_eq!(expected(&copy), expected_lines, "the copy is as version 13 left it");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&copy).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "it is its owner's alone");
    check(open(&path).await.as_ref(), &expected_lines).await;
    assert!(!directory.path().join("pleach.db.v14").exists(), "nothing was migrated again");
}

/// A kill between the migration's commit and the rebuild leaves the note and the rows of the version before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projections_that_a_killed_process_did_not_rebuild_are_rebuilt_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pleach.db");
    load(&path);
    let expected_lines = expected(&path);
    drop(open(&path).await);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("UPDATE tree_agent_nodes SET title = 'as version 13 knew it'").unwrap();
    connection.execute_batch("INSERT INTO database_notes (name, value) VALUES ('rebuild', '')").unwrap();
    drop(connection);

    check(open(&path).await.as_ref(), &expected_lines).await;

    let connection = Connection::open(&path).unwrap();
    let notes: i64 = connection
        .query_row("SELECT COUNT(*) FROM database_notes WHERE name = 'rebuild'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(notes, 0, "it is done once");
}

/// A kill leaves the file and its write-ahead log as they are in the middle of the transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_killed_at_any_step_is_made_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let original = directory.path().join("pleach.db");
    load(&original);
    let expected_lines = expected(&original);
    let text: Vec<&str> = MIGRATION.lines().filter(|line| !line.starts_with("--")).collect();
    let text = text.join("\n");
    let steps: Vec<&str> = text.split(';').map(str::trim).filter(|step| !step.is_empty()).collect();
    assert!(steps.len() > 6);
    for done in 0..=steps.len() {
        let (working, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = working.path().join("pleach.db");
        std::fs::copy(&original, &path).unwrap();
        let connection = Connection::open(&path).unwrap();
        // Pages leave the cache before the commit, as they do in a large database.
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA cache_size = 10; BEGIN IMMEDIATE").unwrap();
        steps[..done].iter().for_each(|step| connection.execute_batch(step).unwrap());
        for name in ["pleach.db", "pleach.db-wal"] {
            std::fs::copy(working.path().join(name), killed.path().join(name)).unwrap();
        }
        drop(connection);
        check(open(&killed.path().join("pleach.db")).await.as_ref(), &expected_lines).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_version_13_is_migrated() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pleach.db");
    load(&file);
    let database = Database::create().await;
    let postgres = client(&database.url).await;
    postgres.batch_execute(&in_postgres(&file)).await.unwrap();
    let store = store::open(&database.url, Options::default()).await.expect("it opens");
    check(&store, &expected(&file)).await;
    drop(store);
    database.drop().await;
}

/// The same database for PostgreSQL: its schema by the same migrations, its rows as literals.
fn in_postgres(file: &Path) -> String {
    let mut sql = postgres_schema(13);
    let connection = Connection::open(file).unwrap();
    let tables =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('schema_migrations', 'database_notes')";
    let mut tables = connection.prepare(tables).unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for table in tables {
        let mut rows = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = rows.column_names().filter(|column| *column != "checksum").map(str::to_owned);
        let columns: Vec<String> = columns.collect();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = columns.iter().map(|column| literal(row.get_ref(column.as_str()).unwrap()));
            let values: Vec<String> = values.collect();
            sql += &format!("INSERT INTO {table} ({}) VALUES ({});\n", columns.join(", "), values.join(", "));
        }
    }
    sql
}

fn literal(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".into(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => format!("'{}'", String::from_utf8_lossy(text).replace('\'', "''")),
        ValueRef::Blob(bytes) => {
            format!("'\\x{}'::bytea", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
    }
}

/// Whether the database takes the statement.
async fn takes(world: &World, sql: &str) -> bool {
    match &world.place {
        Place::File(path) => Connection::open(path).unwrap().execute_batch(sql).is_ok(),
        Place::Database(url) => client(url).await.batch_execute(sql).await.is_ok(),
    }
}

/// Its transaction inserts an event, so none of it happens.
async fn a_worker_of_version_13_cannot_write(world: World) {
    for table in ["homework_run_events", "tree_agent_events", "agent_task_events"] {
        let sql = format!(
            "INSERT INTO {table} (run_id, seq, type, at, actor, payload) VALUES ('r', 1, 't', 0, 'platform', '{{}}')"
        );
        assert!(!takes(&world, &sql).await, "{table}");
    }
}

async fn a_worker_leaves_the_runs_of_a_newer_database_alone(world: World) {
    let run: RunId = world.queued(&[]).await.shared.id;
    raw(&world, "INSERT INTO schema_migrations VALUES (99, 'later', '', 0)").await;
    let refused = world.store.claim("w", 10, Duration::from_secs(10), None, &[]).await;
    assert!(matches!(&refused, Err(StoreError::Unusable(why)) if why.contains("99")), "{refused:?}");
    raw(&world, "DELETE FROM schema_migrations WHERE version = 99").await;
    let claimed = world.store.claim("w", 10, Duration::from_secs(10), None, &[]).await.unwrap();
    assert_eq!(claimed.iter().map(|claimed| claimed.lease.run_id).collect::<Vec<_>>(), [run]);
}

async fn the_views_show_one_row_per_event(world: World) {
    let run = world.queued(&[]).await;
    let events = world.store.events(run.shared.id, 0, 10).await.unwrap();
    let stored: Vec<_> =
        events.iter().map(|event| (event.kind.clone(), event.hash.to_string(), event.payload.clone())).collect();
    let query = "SELECT type, hash, payload FROM homework_run_events ORDER BY seq";
    let shown: Vec<(String, String, String)> = match &world.place {
        Place::File(path) => {
            let connection = Connection::open(path).unwrap();
            let mut statement = connection.prepare(query).unwrap();
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            statement.query_map([], row).unwrap().map(Result::unwrap).collect()
        }
        Place::Database(url) => {
            let rows = client(url).await.query(query, &[]).await.unwrap();
            rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
        }
    };
    assert_eq!(shown, stored);
    assert!(crate::played::dump(&world, "tree_agent_events").await.is_empty());
}
