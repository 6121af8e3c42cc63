//! Runs statements on one SQLite connection, and commits a group of batches in one transaction. It must not know
//! threads.

use crate::StoreError;
use crate::backend::WriteError;
use crate::sql::{Guard, Row, Statement, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ffi, params_from_iter};
use std::borrow::Cow;

pub(crate) type Written = Vec<Vec<Row>>;

/// Why a whole group was rolled back.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The write or the fsync of the commit failed. The kernel may have dropped the dirty pages, so a retry could
    /// succeed without the data being on disk. The writer must stop.
    Flush(StoreError),
    Store(StoreError),
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Int(Some(number)) => ValueRef::Integer(*number),
            Value::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            Value::Id(id) => ValueRef::Text(id.as_str().as_bytes()),
            Value::Bytes(Some(bytes)) => ValueRef::Blob(bytes),
            Value::Int(None) | Value::Text(None) | Value::Bytes(None) => ValueRef::Null,
        }))
    }
}

/// Runs every batch under its own savepoint, so that a refused batch is rolled back alone, then commits once for all. A
/// single batch needs no savepoint.
pub(crate) fn commit(connection: &Connection, group: &[&[Statement]]) -> Result<Vec<Result<Written, Guard>>, Failed> {
    let written = write_all(connection, group).and_then(|outcomes| match connection.execute_batch("COMMIT") {
        Ok(()) => Ok(outcomes),
        Err(error) if flush_failed(&error) => Err(Failed::Flush(translate(&error))),
        Err(error) => Err(Failed::Store(translate(&error))),
    });
    if written.is_err() && !connection.is_autocommit() {
        // A failure of the rollback adds nothing to the error that is returned.
        let _ = connection.execute_batch("ROLLBACK");
    }
    written
}

fn write_all(connection: &Connection, group: &[&[Statement]]) -> Result<Vec<Result<Written, Guard>>, Failed> {
    let plain = |sql| connection.execute_batch(sql).map_err(|error| Failed::Store(translate(&error)));
    plain("BEGIN IMMEDIATE")?;
    let mut outcomes = Vec::with_capacity(group.len());
    let (save, undo, release) = match group {
        // The new `BEGIN` is for the `COMMIT` that follows in any case.
        [_] => ("", "ROLLBACK; BEGIN", ""),
        _ => ("SAVEPOINT batch", "ROLLBACK TO batch", "RELEASE batch"),
    };
    for batch in group {
        plain(save)?;
        let outcome = match run(connection, batch) {
            Ok(rows) => Ok(rows),
            Err(WriteError::Refused(guard)) => {
                plain(undo)?;
                Err(guard)
            }
            Err(WriteError::Store(error)) => return Err(Failed::Store(error)),
            Err(WriteError::Unknown(what)) => return Err(Failed::Store(StoreError::Unavailable(what))),
        };
        plain(release)?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn run(connection: &Connection, batch: &[Statement]) -> Result<Written, WriteError> {
    let mut all = Vec::with_capacity(batch.len());
    for statement in batch {
        let (rows, touched) = execute(connection, statement).map_err(|error| translate(&error))?;
        if let (Some(guard), 0) = (statement.guard, touched) {
            return Err(WriteError::Refused(guard));
        }
        all.push(rows);
    }
    Ok(all)
}

pub(crate) fn read(connection: &Connection, query: &Statement) -> Result<Vec<Row>, StoreError> {
    execute(connection, query).map(|(rows, _)| rows).map_err(|error| translate(&error))
}

fn execute(connection: &Connection, statement: &Statement) -> rusqlite::Result<(Vec<Row>, usize)> {
    let mut prepared = connection.prepare_cached(&without_row_locks(&statement.sql))?;
    let columns = prepared.column_count();
    let (mut rows, mut touched) = (Vec::new(), 0);
    for values in &statement.rows {
        if columns == 0 {
            touched += prepared.execute(params_from_iter(values))?;
            continue;
        }
        let mut found = prepared.query(params_from_iter(values))?;
        while let Some(row) = found.next()? {
            rows.push(Row((0..columns).map(|column| row.get_ref(column).map(value)).collect::<Result<_, _>>()?));
        }
    }
    touched += rows.len();
    Ok((rows, touched))
}

/// SQLite has one writer and no row locks, so there is nothing to skip.
fn without_row_locks(sql: &str) -> Cow<'_, str> {
    const LOCKS: &str = "FOR UPDATE SKIP LOCKED";
    if sql.contains(LOCKS) { Cow::Owned(sql.replace(LOCKS, "")) } else { Cow::Borrowed(sql) }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Text(None),
        ValueRef::Integer(number) => Value::Int(Some(number)),
        ValueRef::Real(number) => Value::Int(Some(number as i64)),
        ValueRef::Text(text) => Value::Text(Some(String::from_utf8_lossy(text).into_owned())),
        ValueRef::Blob(bytes) => Value::Bytes(Some(bytes.to_vec())),
    }
}

pub(crate) fn translate(error: &rusqlite::Error) -> StoreError {
    let message = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full(message),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(message),
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => StoreError::Unavailable(message),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Unusable(format!(
            "the database file is damaged ({message}); restore a backup, or move the file away to start a new one"
        )),
        Some(ErrorCode::ReadOnly) => StoreError::Unusable(format!("the database cannot be written: {message}")),
        _ => StoreError::Unusable(format!("the database refused a statement: {message}")),
    }
}

fn flush_failed(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC | ffi::SQLITE_IOERR_WRITE))
}
