//! Copies a SQLite database into an empty PostgreSQL database: every row of every table, then a full check of the copy.
//! The source is only read. A note in the target says that the copy is in progress; `open` refuses a target that has
//! it, and a second copy starts over. It must not know any table: the tables are read from the source's schema.

use super::examine::Depth;
use crate::backend::Backend;
use crate::log::into_store_error;
use crate::postgres::Postgres;
use crate::sql::{Row, Statement, Value};
use crate::sqlite::Sqlite;
use crate::sqlite::schema::{self, Column, Table};
use crate::tables::insert;
use crate::{Engine, FileClock, Options, SqlStore, StoreError, migrate};
use std::path::Path;
use std::sync::Arc;

/// Rows in one transaction.
const ROWS: usize = 100;
const COPYING: &str = "copying";
/// Tables about the database itself, which are not copied.
const OF_ITS_OWN: [&str; 2] = ["schema_migrations", "database_notes"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub runs: u64,
    pub events: u64,
    pub texts: u64,
    pub rows: u64,
}

/// The caller must hold the source, so that no other process writes to it.
pub async fn copy(from: &Path, to: &str, options: &Options) -> Result<Copied, StoreError> {
    let place = from.display().to_string();
    let source = Sqlite::open_read_only(from, Arc::new(FileClock::default()))?
        .ok_or_else(|| StoreError::Unusable(format!("there is no database at {place}")))?;
    migrate::require_current(&source, &place).await?;
    let source = SqlStore::new(Box::new(source), options.project_items);
    refuse_damaged(&source, &place).await?;
    let target = Postgres::open(to, options).await?;
    migrate::migrate(&target, Engine::Postgres, "the target").await?;
    let tables = schema::tables(source.backend.as_ref()).await?;
    let tables: Vec<Table> = tables.into_iter().filter(|table| !OF_ITS_OWN.contains(&table.name.as_str())).collect();
    begin(&target, &tables).await?;
    let mut copied = Copied::default();
    for table in &tables {
        copied.rows += copy_table(source.backend.as_ref(), &target, table).await?;
    }
    let target = SqlStore::new(Box::new(target), options.project_items);
    check(&source, &target, &tables, &mut copied).await?;
    let done = Statement::new("DELETE FROM database_notes WHERE name = ?1", vec![Value::from(COPYING)]);
    target.backend.write(vec![done]).await.map_err(into_store_error)?;
    Ok(copied)
}

async fn refuse_damaged(source: &SqlStore, place: &str) -> Result<(), StoreError> {
    match source.examine(Depth::Full).await?.damage.first() {
        None => Ok(()),
        Some(damage) => Err(StoreError::Unusable(format!("{place} is damaged and was not copied: {damage}"))),
    }
}

/// Writes the note. The target must be empty, or have an unfinished copy, which is deleted.
async fn begin(target: &Postgres, tables: &[Table]) -> Result<(), StoreError> {
    let mut statements = Vec::new();
    if is_unfinished(target).await? {
        statements.extend(tables.iter().map(|table| Statement::new(format!("DELETE FROM {}", table.name), vec![])));
    } else {
        for table in tables {
            let rows = count(target, &table.name).await?;
            if rows > 0 {
                return Err(StoreError::Unusable(format!(
                    "the target is not empty: {} has {rows} rows; nothing was copied. Name an empty database (`createdb NAME`)",
                    table.name
                )));
            }
        }
    }
    let note = "INSERT INTO database_notes (name, value) VALUES (?1, 'from SQLite') ON CONFLICT DO NOTHING";
    statements.push(Statement::new(note, vec![Value::from(COPYING)]));
    target.write_long(statements).await.map(drop).map_err(into_store_error)
}

pub(crate) async fn is_unfinished(backend: &dyn Backend) -> Result<bool, StoreError> {
    let query = Statement::new("SELECT 1 FROM database_notes WHERE name = ?1", vec![Value::from(COPYING)]);
    Ok(!backend.read(query).await?.is_empty())
}

async fn count(backend: &dyn Backend, table: &str) -> Result<u64, StoreError> {
    let found = backend.read_long(Statement::new(format!("SELECT COUNT(*) FROM {table}"), vec![])).await?;
    found.first().map_or(Ok(0), |row| crate::records::number(row, 0))
}

/// Copies a table page by page in the order of its primary key. Each page is one transaction.
async fn copy_table(source: &dyn Backend, target: &Postgres, table: &Table) -> Result<u64, StoreError> {
    let columns = table.columns().join(", ");
    let key = table.key().join(", ");
    let places: Vec<String> = (1..=table.key().len()).map(|number| format!("?{number}")).collect();
    let into = insert(&table.name, &columns, "");
    let (mut after, mut copied) = (Vec::new(), 0);
    loop {
        let further =
            if after.is_empty() { String::new() } else { format!(" WHERE ({key}) > ({})", places.join(", ")) };
        let query = format!("SELECT {columns} FROM {}{further} ORDER BY {key} LIMIT {ROWS}", table.name);
        let page = source.read_long(Statement::new(query, std::mem::take(&mut after))).await?;
        let Some(last) = page.last() else { return Ok(copied) };
        after = key_of(table, last);
        copied += page.len() as u64;
        let rows: Vec<Vec<Value>> = page.into_iter().map(|row| typed(&table.columns, row)).collect();
        target.write_long(vec![Statement::many(into.clone(), rows)]).await.map_err(into_store_error)?;
    }
}

fn key_of(table: &Table, row: &Row) -> Vec<Value> {
    let columns = table.columns.iter().zip(&row.0);
    columns.filter(|(column, _)| column.is_key).map(|(_, value)| value.clone()).collect()
}

/// Gives every NULL the type of its column: SQLite returns it without one, and PostgreSQL needs one.
fn typed(columns: &[Column], row: Row) -> Vec<Value> {
    let one = |(column, value): (&Column, Value)| match (column.kind.as_str(), value) {
        ("BIGINT", Value::Text(None)) => Value::Int(None),
        ("BLOB", Value::Text(None)) => Value::Bytes(None),
        (_, value) => value,
    };
    columns.iter().zip(row.0).map(one).collect()
}

/// Compares row counts and anchors, then examines the copy: chains, texts and projections.
async fn check(source: &SqlStore, target: &SqlStore, tables: &[Table], copied: &mut Copied) -> Result<(), StoreError> {
    let wrong = |what: String| {
        StoreError::Unusable(format!(
            "the copy differs from the source: {what}. The source is unchanged; run the command again"
        ))
    };
    for table in tables {
        let (there, here) =
            (count(source.backend.as_ref(), &table.name).await?, count(target.backend.as_ref(), &table.name).await?);
        if there != here {
            return Err(wrong(format!("{} has {here} rows instead of {there}", table.name)));
        }
    }
    if source.anchors().await? != target.anchors().await? {
        return Err(wrong("the logs do not end at the same events".into()));
    }
    let found = target.examine(Depth::Full).await?;
    if let Some(damage) = found.damage.first() {
        return Err(wrong(damage.to_string()));
    }
    (copied.runs, copied.events, copied.texts) = (found.runs, found.events, found.texts);
    Ok(())
}
