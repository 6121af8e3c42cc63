//! PostgreSQL, for several machines: every batch is one pipelined transaction on a pooled connection.
//! Statements are unnamed and typed, so a pooler in transaction mode may sit in between.

mod hints;
mod pool;

use crate::StoreError;
use crate::backend::{Backend, WriteError};
use crate::sql::{Id, Row, Statement, Value, dialect};
use async_trait::async_trait;
use futures::{StreamExt, poll};
use hints::Hints;
use pool::Pool;
use std::error::Error as _;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Error};

const CONNECTIONS: usize = 8;
/// Serialisation failures and deadlocks: the same batch again.
const TRIES: u32 = 5;
/// The protocol counts parameters in 16 bits.
const PARAMETERS: usize = 60_000;

pub struct Postgres {
    pool: Arc<Pool>,
    hints: Hints,
}

impl Postgres {
    pub async fn open(url: &str, direct_url: Option<&str>) -> Result<Postgres, StoreError> {
        let pool = Arc::new(Pool::new(pool::config(url)?, CONNECTIONS));
        let direct = direct_url.map(pool::config).transpose()?;
        let postgres = Postgres { pool, hints: Hints::new(direct) };
        postgres.refuse_volatile().await?;
        Ok(postgres)
    }

    /// A server that may lose what it confirmed cannot keep our promises.
    async fn refuse_volatile(&self) -> Result<(), StoreError> {
        let query = "SELECT name FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting = 'off'";
        match self.read(Statement::new(query, vec![])).await?.first() {
            None => Ok(()),
            Some(row) => Err(StoreError::Unusable(format!(
                "the PostgreSQL server runs with {} = off and may lose what it confirmed; turn it on",
                row.text(0)?
            ))),
        }
    }

    async fn attempt(&self, batch: &[Statement]) -> Result<Vec<Vec<Row>>, Interrupted> {
        let pooled = self.pool.take().await.map_err(Interrupted::Store)?;
        let client = &pooled.client;
        let written = pipeline(client, batch).await;
        let ended = match &written {
            Ok(_) => client.batch_execute("COMMIT").await.map_err(Interrupted::at_commit),
            Err(_) => client.batch_execute("ROLLBACK").await.map_err(Interrupted::before_commit),
        };
        if ended.is_ok() {
            self.pool.give_back(pooled);
        }
        let rows = written?;
        ended.map(|()| rows)
    }
}

/// Why one attempt did not commit.
enum Interrupted {
    /// The server asked for the same again.
    Retry(StoreError),
    Refused(WriteError),
    /// Gone before the commit was sent.
    Lost(StoreError),
    /// Gone while committing.
    Unknown(String),
    Store(StoreError),
}

impl Interrupted {
    fn before_commit(error: Error) -> Interrupted {
        match error.code() {
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
                Interrupted::Retry(translate(&error))
            }
            _ if is_lost(&error) => Interrupted::Lost(translate(&error)),
            _ => Interrupted::Store(translate(&error)),
        }
    }

    fn at_commit(error: Error) -> Interrupted {
        match Interrupted::before_commit(error) {
            Interrupted::Lost(error) => Interrupted::Unknown(error.to_string()),
            other => other,
        }
    }
}

/// Everything is sent at once; answers are judged in order, so the first failure is the real one.
async fn pipeline(client: &Client, batch: &[Statement]) -> Result<Vec<Vec<Row>>, Interrupted> {
    let mut begin = Box::pin(client.batch_execute("BEGIN"));
    let begun = poll!(&mut begin);
    let mut sent = Vec::with_capacity(batch.len());
    for statement in batch {
        let mut answer = Box::pin(execute(client, statement));
        let first = poll!(&mut answer);
        sent.push((statement.guard, first, answer));
    }
    match begun {
        Poll::Ready(answer) => answer,
        Poll::Pending => begin.await,
    }
    .map_err(Interrupted::before_commit)?;
    let mut all = Vec::with_capacity(sent.len());
    let mut failure = None;
    for (guard, first, answer) in sent {
        let answer = match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => answer.await,
        };
        match (answer, guard) {
            _ if failure.is_some() => {}
            (Ok((_, 0)), Some(guard)) => failure = Some(Interrupted::Refused(WriteError::Refused(guard))),
            (Ok((rows, _)), _) => all.push(rows),
            (Err(error), _) => failure = Some(Interrupted::before_commit(error)),
        }
    }
    failure.map_or(Ok(all), Err)
}

/// The rows, and how many were touched.
async fn execute(client: &Client, statement: &Statement) -> Result<(Vec<Row>, u64), Error> {
    let width = statement.rows.first().map_or(1, |row| row.len().max(1));
    let together =
        if statement.sql.starts_with("INSERT") && statement.sql.contains("VALUES (") { PARAMETERS / width } else { 1 };
    let (mut rows, mut touched) = (Vec::new(), 0);
    for chunk in statement.rows.chunks(together) {
        let sql = dialect(&statement.sql, chunk.len());
        let values = chunk.iter().flatten().map(bound);
        let mut found = std::pin::pin!(client.query_typed_raw(&sql, values).await?);
        while let Some(row) = found.next().await {
            rows.push(decoded(&row?)?);
        }
        touched += found.rows_affected().unwrap_or_default();
    }
    Ok((rows, touched))
}

fn bound(value: &Value) -> (&(dyn ToSql + Sync), Type) {
    match value {
        Value::Int(number) => (number, Type::INT8),
        Value::Text(text) => (text, Type::TEXT),
        Value::Id(id) => (id, Type::TEXT),
        Value::Bytes(bytes) => (bytes, Type::BYTEA),
    }
}

impl ToSql for Id {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        self.as_str().to_sql(kind, out)
    }

    fn accepts(kind: &Type) -> bool {
        <&str as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}

fn decoded(row: &tokio_postgres::Row) -> Result<Row, Error> {
    let value = |column: usize| match *row.columns()[column].type_() {
        Type::INT8 => row.try_get(column).map(Value::Int),
        Type::INT4 => row.try_get::<_, Option<i32>>(column).map(|number| Value::Int(number.map(i64::from))),
        Type::BYTEA => row.try_get(column).map(Value::Bytes),
        _ => row.try_get(column).map(Value::Text),
    };
    (0..row.len()).map(value).collect::<Result<_, _>>().map(Row)
}

fn is_lost(error: &Error) -> bool {
    let ending = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    match error.code() {
        Some(code) => ending.contains(code) || code.code().starts_with("08"),
        // Without the server's word it is the connection that failed, or our own decoding.
        None => error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()),
    }
}

fn translate(error: &Error) -> StoreError {
    let message = error.as_db_error().map_or_else(|| chain(error), |refusal| refusal.message().to_owned());
    match error.code() {
        Some(&SqlState::DISK_FULL) => StoreError::Full(message),
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
            StoreError::Unavailable(message)
        }
        _ if is_lost(error) => StoreError::Unavailable(message),
        _ => StoreError::Unusable(format!("the database refused: {message}")),
    }
}

/// The cause is what a person can act on.
fn chain(error: &Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

#[async_trait]
impl Backend for Postgres {
    async fn write(&self, batch: Vec<Statement>) -> Result<Vec<Vec<Row>>, WriteError> {
        let (mut tries, mut lost) = (0, false);
        loop {
            match self.attempt(&batch).await {
                Ok(rows) => return Ok(rows),
                Err(Interrupted::Retry(_)) if tries < TRIES => tries += 1,
                // An idle connection may have died unnoticed: once more, on another one.
                Err(Interrupted::Lost(_)) if !lost => lost = true,
                Err(Interrupted::Refused(refusal)) => return Err(refusal),
                Err(Interrupted::Unknown(what)) => return Err(WriteError::Unknown(what)),
                Err(Interrupted::Retry(error) | Interrupted::Lost(error) | Interrupted::Store(error)) => {
                    return Err(error.into());
                }
            }
        }
    }

    async fn read(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
        let mut lost = false;
        loop {
            let pooled = self.pool.take().await?;
            match execute(&pooled.client, &query).await {
                Ok((rows, _)) => {
                    self.pool.give_back(pooled);
                    return Ok(rows);
                }
                Err(error) if is_lost(&error) && !lost => lost = true,
                Err(error) => {
                    let error = (translate(&error), pooled.client.is_closed());
                    if !error.1 {
                        self.pool.give_back(pooled);
                    }
                    return Err(error.0);
                }
            }
        }
    }

    fn alone_with(&self, table: &'static str) -> String {
        format!("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
    }

    fn hint(&self) {
        self.hints.send(&self.pool);
    }

    async fn hinted(&self, at_most: Duration) {
        self.hints.heard(at_most).await;
    }
}
