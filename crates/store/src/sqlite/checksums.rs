//! Checksums of rows in a SQLite file, so that a flipped bit is noticed. Events have their hash chain, texts their
//! hash, and projections can be computed again. Documents, tasks, people and tokens exist only in their rows, so
//! triggers keep a checksum in each of those rows. A checksum is no protection against somebody who edits the file on
//! purpose.

use super::schema::{CHECKSUM, Table, tables};
use crate::StoreError;
use crate::backend::Backend;
use crate::log::into_store_error;
use crate::sql::{Statement, Value};
use crate::tables::follows_from_logs;
use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use std::collections::HashMap;

/// The most damaged rows of a table that are listed.
const NAMED: i64 = 5;

/// Tables without checksums: `jobs` is written by every append, and the others are checked by other means.
const OTHERS: [&str; 5] = ["jobs", "blobs", "blob_refs", "schema_migrations", "database_notes"];

fn is_guarded(table: &Table) -> bool {
    !follows_from_logs(&table.name) && !OTHERS.contains(&table.name.as_str()) && !table.key().is_empty()
}

pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("row_checksum", -1, flags, checksum)
}

/// FNV-1a. Each step is invertible, so a change of a single byte always changes the sum.
fn checksum(values: &Context<'_>) -> rusqlite::Result<i64> {
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for index in 0..values.len() {
        let (tag, bytes) = match values.get_raw(index) {
            ValueRef::Null => (0, Vec::new()),
            ValueRef::Integer(number) => (1, number.to_le_bytes().to_vec()),
            ValueRef::Real(number) => (2, number.to_le_bytes().to_vec()),
            ValueRef::Text(text) => (3, text.to_vec()),
            ValueRef::Blob(bytes) => (4, bytes.to_vec()),
        };
        add(&[tag]);
        add(&(bytes.len() as u64).to_le_bytes());
        add(&bytes);
    }
    Ok(i64::from_le_bytes(sum.to_le_bytes()))
}

fn note(table: &Table) -> (String, String) {
    (format!("checksum:{}", table.name), table.columns().join(","))
}

/// Adds the checksum column to every covered table, and computes it again when a migration changed the table's columns.
///
/// The triggers are temporary, so they belong to this connection. Another program can still change a row, and `check`
/// then reports it.
pub(crate) async fn install(backend: &dyn Backend) -> Result<(), StoreError> {
    let covered = notes(backend).await?;
    let mut statements = Vec::new();
    for table in tables(backend).await?.iter().filter(|table| is_guarded(table)) {
        let (name, columns) = note(table);
        if !table.has_checksum || covered.get(&name) != Some(&columns) {
            statements.extend(covering(table));
        }
        statements.extend(triggers(table));
    }
    backend.write_long(statements).await.map(drop).map_err(into_store_error)
}

async fn notes(backend: &dyn Backend) -> Result<HashMap<String, String>, StoreError> {
    let query = "SELECT name, value FROM database_notes WHERE name LIKE 'checksum:%'";
    let found = backend.read(Statement::new(query, vec![])).await?;
    found.iter().map(|row| Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned()))).collect()
}

fn covering(table: &Table) -> Vec<Statement> {
    let name = &table.name;
    let mut statements = Vec::new();
    if !table.has_checksum {
        statements.push(Statement::new(format!("ALTER TABLE {name} ADD COLUMN {CHECKSUM} BIGINT"), vec![]));
    }
    let list = table.columns().join(", ");
    statements.push(Statement::new(format!("UPDATE {name} SET {CHECKSUM} = row_checksum({list})"), vec![]));
    let (key, value) = note(table);
    let keep = "INSERT INTO database_notes (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    statements.push(Statement::new(keep, vec![Value::from(key), Value::from(value)]));
    statements
}

fn triggers(table: &Table) -> [Statement; 2] {
    let name = &table.name;
    let columns = table.columns();
    let new: Vec<String> = columns.iter().map(|column| format!("new.{column}")).collect();
    let same: Vec<String> = table.key().iter().map(|column| format!("{column} = new.{column}")).collect();
    let set = format!(
        "BEGIN UPDATE {name} SET {CHECKSUM} = row_checksum({}) WHERE {}; END",
        new.join(", "),
        same.join(" AND ")
    );
    let after = |event: &str, when: String| {
        let sql = format!("CREATE TEMP TRIGGER IF NOT EXISTS {name}_checksum_{event} AFTER {when} ON {name} {set}");
        Statement::new(sql, vec![])
    };
    [after("insert", "INSERT".into()), after("update", format!("UPDATE OF {}", columns.join(", ")))]
}

/// The rows whose checksum is wrong, as messages.
pub(crate) async fn check(backend: &dyn Backend) -> Result<Vec<String>, StoreError> {
    let covered = notes(backend).await?;
    let mut damaged = Vec::new();
    for table in tables(backend).await?.iter().filter(|table| is_guarded(table) && table.has_checksum) {
        let (name, columns) = note(table);
        if covered.get(&name) != Some(&columns) {
            damaged.push(format!("the checksums of the table {} do not cover its columns", table.name));
            continue;
        }
        let query = format!(
            "SELECT {} FROM {} WHERE {CHECKSUM} IS NOT row_checksum({columns}) LIMIT {NAMED}",
            table.key().join(", "),
            table.name
        );
        for row in backend.read_long(Statement::new(query, vec![])).await? {
            let key: Vec<String> = row.0.iter().map(shown).collect();
            damaged.push(format!("the row {} of {} was changed after it was written", key.join(" "), table.name));
        }
    }
    Ok(damaged)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Int(Some(number)) => number.to_string(),
        Value::Text(Some(text)) => text.chars().take(80).collect(),
        Value::Id(id) => id.as_str().to_owned(),
        Value::Bytes(Some(bytes)) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::Int(None) | Value::Text(None) | Value::Bytes(None) => "(empty)".into(),
    }
}
