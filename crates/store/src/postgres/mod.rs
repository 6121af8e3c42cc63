//! The PostgreSQL backend, for several processes on several machines. Every batch is one pipelined transaction on a
//! pooled connection. A pooler in transaction mode may stand in between, unless the configuration says that there is
//! none: then statements are prepared once for each connection. It must not know any table.

mod hints;
mod password;
mod pool;
mod prepared;
mod settings;
mod tls;

pub use settings::Variables;

use crate::backend::{Backend, WriteError};
use crate::sql::{Id, Row, Statement, Value, dialect};
use crate::{Options, StoreError};
use async_trait::async_trait;
use futures::{StreamExt, poll};
use hints::Hints;
use pool::{Connected, Pool, Pooled};
use settings::Settings;
use std::error::Error as _;
use std::slice::Chunks;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tls::TlsRefused;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

const CONNECTIONS: usize = 16;
/// The most retries of a batch after a serialization failure or a deadlock.
const TRIES: u32 = 5;
/// The most parameters in one statement: the protocol counts them in 16 bits.
const PARAMETERS: usize = 60_000;

/// The limit for a batch or a query, from asking for a connection to its last row.
const USUAL: Duration = Duration::from_secs(10);
/// The same limit for maintenance of a whole database.
const LONG: Duration = Duration::from_secs(600);
/// The limit for the answer to `BEGIN`. Every server answers it at once, so one that does not is taken to be dead.
const SILENT: Duration = Duration::from_secs(5);
/// The least time to wait for the answer to a `COMMIT`, even past the deadline. Not knowing whether it happened costs
/// more.
const COMMIT: Duration = Duration::from_secs(2);
/// The server ends a transaction whose client sends nothing for this long, so that nobody waits for its locks.
const ABANDONED_MS: u128 = 5_000;

pub(crate) struct Postgres {
    pool: Arc<Pool>,
    hints: Hints,
}

impl Postgres {
    pub(crate) async fn open(url: &str, options: &Options) -> Result<Postgres, StoreError> {
        let variables = &options.variables;
        // The same address twice says that no pooler stands in between.
        let is_direct = options.direct_url.as_deref() == Some(url);
        let pool = Arc::new(Pool::new(Settings::of(url, variables)?, CONNECTIONS, is_direct));
        let direct = options.direct_url.as_deref().map(|url| Settings::of(url, variables)).transpose()?;
        pool.open(options.startup_wait, options.on_wait).await?;
        let postgres = Postgres { pool, hints: Hints::new(direct) };
        postgres.refuse_volatile().await?;
        Ok(postgres)
    }

    /// Refuses a server that may lose a commit that it has confirmed.
    async fn refuse_volatile(&self) -> Result<(), StoreError> {
        let query = "SELECT name FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting = 'off'";
        match self.read(Statement::new(query, vec![])).await?.first() {
            None => Ok(()),
            Some(row) => Err(StoreError::Unusable(format!(
                "the PostgreSQL server runs with {} = off and may lose commits that it has confirmed; turn it on",
                row.text(0)?
            ))),
        }
    }

    async fn attempt(
        &self,
        batch: &[Statement],
        when: CommitTime,
        limit: Duration,
        deadline: Instant,
    ) -> Result<Rows, Interrupted> {
        let pooled = self.pool.take(deadline).await.map_err(Interrupted::Store)?;
        match timeout_at(deadline, pipeline(&pooled.client, batch, when, limit)).await {
            Ok(Answered { rows: Ok(rows), commit: Some(Ok(())) }) => {
                self.pool.give_back(pooled);
                Ok(rows)
            }
            Ok(Answered { rows: Ok(_), commit: Some(Err(error)) }) => Err(Interrupted::at_commit(error)),
            Ok(Answered { rows: Ok(rows), commit: None }) => self.commit(pooled, deadline).await.map(|()| rows),
            Ok(Answered { rows: Err(Interrupted::Silent(error)), .. }) => {
                self.pool.discard(pooled);
                Err(Interrupted::Silent(error).after(when))
            }
            // The server has ended the transaction already: a `COMMIT` after a failed statement is a `ROLLBACK`.
            Ok(Answered { rows: Err(interrupted), commit: Some(ended) }) => {
                if ended.is_ok() {
                    self.pool.give_back(pooled);
                }
                Err(interrupted.after(when))
            }
            Ok(Answered { rows: Err(interrupted), commit: None }) => {
                if let Ok(Ok(())) = timeout(COMMIT, pooled.client.batch_execute("ROLLBACK")).await {
                    self.pool.give_back(pooled);
                }
                Err(interrupted)
            }
            Err(_) => {
                self.pool.discard(pooled);
                Err(Interrupted::Store(no_answer(limit)).after(when))
            }
        }
    }

    async fn commit(&self, pooled: Pooled<'_>, deadline: Instant) -> Result<(), Interrupted> {
        let deadline = deadline.max(Instant::now() + COMMIT);
        match timeout_at(deadline, pooled.client.batch_execute("COMMIT")).await {
            Ok(Ok(())) => {
                self.pool.give_back(pooled);
                Ok(())
            }
            Ok(Err(error)) => Err(Interrupted::at_commit(error)),
            Err(_) => {
                self.pool.discard(pooled);
                Err(Interrupted::Unknown("the server did not confirm a commit in time".into()))
            }
        }
    }

    async fn write_within(&self, limit: Duration, when: CommitTime, batch: Vec<Statement>) -> Result<Rows, WriteError> {
        let deadline = Instant::now() + limit;
        let (mut tries, mut lost) = (0, false);
        loop {
            match self.attempt(&batch, when, limit, deadline).await {
                Ok(rows) => return Ok(rows),
                Err(Interrupted::Retry(_)) if tries < TRIES => tries += 1,
                // An idle connection may have died without notice. Try once more, on another connection.
                Err(Interrupted::Lost(_) | Interrupted::Silent(_)) if !lost => lost = true,
                Err(Interrupted::Refused(refusal)) => return Err(refusal),
                Err(Interrupted::Unknown(what)) => return Err(WriteError::Unknown(what)),
                Err(
                    Interrupted::Retry(error)
                    | Interrupted::Lost(error)
                    | Interrupted::Silent(error)
                    | Interrupted::Store(error),
                ) => return Err(error.into()),
            }
        }
    }

    async fn read_within(&self, limit: Duration, query: &Statement) -> Result<Vec<Row>, StoreError> {
        let deadline = Instant::now() + limit;
        let mut lost = false;
        loop {
            let pooled = self.pool.take(deadline).await?;
            let read = async {
                if let Some(prepared) = &pooled.client.prepared {
                    prepared.prepare(&pooled.client, std::slice::from_ref(query)).await?;
                }
                execute(&pooled.client, query).await
            };
            match timeout_at(deadline, read).await {
                Ok(Ok((rows, _))) => {
                    self.pool.give_back(pooled);
                    return Ok(rows);
                }
                Ok(Err(error)) if is_lost(&error) && !lost => lost = true,
                Ok(Err(error)) => {
                    if !pooled.client.is_closed() {
                        self.pool.give_back(pooled);
                    }
                    return Err(translate(&error));
                }
                Err(_) => {
                    self.pool.discard(pooled);
                    return Err(no_answer(limit));
                }
            }
        }
    }
}

fn no_answer(limit: Duration) -> StoreError {
    StoreError::Unavailable(format!("the server did not answer within {} s", limit.as_secs()))
}

type Rows = Vec<Vec<Row>>;

/// When `COMMIT` is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommitTime {
    /// When every statement is answered. A connection that is lost before that has committed nothing.
    AfterAnswers,
    /// With the statements: one round trip. A connection that is lost may have committed.
    WithStatements,
}

/// The answers to a batch.
struct Answered {
    rows: Result<Rows, Interrupted>,
    /// The answer to `COMMIT`, if it was sent with the statements.
    commit: Option<Result<(), Error>>,
}

/// Why one attempt did not commit.
enum Interrupted {
    /// A serialization failure, a deadlock or a lock that was not available. The same batch may succeed.
    Retry(StoreError),
    Refused(WriteError),
    /// The connection was lost before `COMMIT` was sent, so nothing is committed.
    Lost(StoreError),
    /// The connection is open, and the server does not answer.
    Silent(StoreError),
    /// The connection was lost after `COMMIT` was sent.
    Unknown(String),
    Store(StoreError),
}

impl Interrupted {
    fn before_commit(error: Error) -> Interrupted {
        match error.code() {
            Some(
                &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED | &SqlState::LOCK_NOT_AVAILABLE,
            ) => Interrupted::Retry(translate(&error)),
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

    /// Without an answer nobody knows whether the server got a `COMMIT` that was sent with the statements.
    fn after(self, when: CommitTime) -> Interrupted {
        match (when, self) {
            (CommitTime::WithStatements, Interrupted::Lost(error) | Interrupted::Silent(error)) => {
                Interrupted::Unknown(error.to_string())
            }
            (CommitTime::WithStatements, Interrupted::Store(error @ StoreError::Unavailable(_))) => {
                Interrupted::Unknown(error.to_string())
            }
            (_, interrupted) => interrupted,
        }
    }
}

/// Sends all statements before it reads the first answer. Each future is polled once to send its statement.
///
/// Answers are read in order: the first failure is the cause, and the later ones only say that the transaction is
/// aborted. They are read all the same, so that the connection is ready for the next transaction.
///
/// `SET LOCAL` ends with the transaction. A pooler lends the session to others, so nothing may remain set in it. A direct
/// connection has the usual limits from its start.
async fn pipeline(client: &Connected, batch: &[Statement], when: CommitTime, limit: Duration) -> Answered {
    let failed = |interrupted| Answered { rows: Err(interrupted), commit: None };
    let begin = match &client.prepared {
        Some(prepared) => {
            if let Err(error) = prepared.prepare(client, batch).await {
                return failed(Interrupted::before_commit(error));
            }
            if limit == USUAL { "BEGIN".to_owned() } else { format!("BEGIN; {}", limits("SET LOCAL", limit)) }
        }
        None => format!("BEGIN; {}", limits("SET LOCAL", limit)),
    };
    let mut begin = Box::pin(client.batch_execute(&begin));
    let begun = poll!(&mut begin);
    let mut sent = Vec::with_capacity(batch.len());
    for statement in batch {
        let mut answer = Box::pin(execute(client, statement));
        let first = poll!(&mut answer);
        sent.push((statement, first, answer));
    }
    // A statement that could not be sent is missing from the transaction, so the transaction must not be committed.
    let all_sent = sent.iter().all(|(statement, first, _)| first.is_pending() && chunks(statement).len() == 1);
    let mut commit = Box::pin(client.batch_execute("COMMIT"));
    let commits = when == CommitTime::WithStatements && all_sent && batch.iter().all(is_checked_by_server);
    let committed = if commits { Some(poll!(&mut commit)) } else { None };
    let begun = match begun {
        Poll::Ready(answer) => answer,
        Poll::Pending => match timeout(SILENT, begin).await {
            Ok(answer) => answer,
            Err(_) => return failed(Interrupted::Silent(no_answer(SILENT))),
        },
    };
    let mut all = Vec::with_capacity(sent.len());
    let mut failure = begun.err().map(Interrupted::before_commit);
    for (statement, first, answer) in sent {
        let answer = match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => answer.await,
        };
        match (answer, statement.guard) {
            _ if failure.is_some() => {}
            (Ok((_, 0)), Some(guard)) => failure = Some(Interrupted::Refused(WriteError::Refused(guard))),
            (Err(error), Some(guard)) if error.code() == Some(&SqlState::DIVISION_BY_ZERO) => {
                failure = Some(Interrupted::Refused(WriteError::Refused(guard)));
            }
            (Ok((rows, _)), _) => all.push(rows),
            (Err(error), _) => failure = Some(Interrupted::before_commit(error)),
        }
    }
    let commit = match committed {
        None => None,
        Some(Poll::Ready(answer)) => Some(answer),
        Some(Poll::Pending) => Some(commit.await),
    };
    Answered { rows: failure.map_or(Ok(all), Err), commit }
}

/// `SET` ends with the session, `SET LOCAL` with the transaction.
fn limits(set: &str, limit: Duration) -> String {
    format!(
        "{set} statement_timeout = {}; {set} idle_in_transaction_session_timeout = {ABANDONED_MS}",
        limit.as_millis()
    )
}

/// The rows of a statement that are sent together: many rows of an insert, one of anything else.
fn chunks(statement: &Statement) -> Chunks<'_, Vec<Value>> {
    let width = statement.rows.first().map_or(1, |row| row.len().max(1));
    let is_insert = statement.sql.starts_with("INSERT") && statement.sql.contains("VALUES (");
    statement.rows.chunks(if is_insert { PARAMETERS / width } else { 1 })
}

/// Whether the statement itself fails when it touches no row: a guard that was made part of it, or no guard at all.
fn is_checked_by_server(statement: &Statement) -> bool {
    let changes = ["INSERT", "UPDATE", "DELETE"].iter().any(|verb| statement.sql.starts_with(verb));
    statement.guard.is_none() || changes && !statement.sql.contains("RETURNING")
}

/// The text for so many rows. A guard becomes a division by the number of rows that the statement touched.
fn text(statement: &Statement, rows: usize) -> String {
    let sql = dialect(&statement.sql, rows);
    match statement.guard {
        Some(_) if is_checked_by_server(statement) => {
            format!("WITH touched AS ({sql} RETURNING 1) SELECT 1 / COUNT(*) FROM touched")
        }
        _ => sql,
    }
}

/// The result rows, and the number of rows that were touched.
async fn execute(client: &Connected, statement: &Statement) -> Result<(Vec<Row>, u64), Error> {
    let (mut rows, mut touched) = (Vec::new(), 0);
    for chunk in chunks(statement) {
        let values = chunk.iter().flatten().map(bound);
        let found = match client.prepared.as_ref().and_then(|known| known.find(statement, chunk)) {
            Some(prepared) => client.query_raw(&prepared, values.map(|(value, _)| value).collect::<Vec<_>>()).await?,
            None => client.query_typed_raw(&text(statement, chunk.len()), values).await?,
        };
        let mut found = std::pin::pin!(found);
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

/// Whether the connection is lost or will be, so that another connection may work.
fn is_lost(error: &Error) -> bool {
    let ending = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    match error.code() {
        Some(code) => ending.contains(code) || code.code().starts_with("08"),
        // Without a code from the server, either the connection failed or our own decoding.
        None => error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()),
    }
}

/// Whether the server answered that it could not finish in time or because of other transactions.
fn is_busy(code: &SqlState) -> bool {
    let waited = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::QUERY_CANCELED,
        SqlState::LOCK_NOT_AVAILABLE,
    ];
    // 53: insufficient resources, 57: the operator intervened, 58: a system error.
    waited.contains(code) || ["53", "57", "58"].iter().any(|class| code.code().starts_with(class))
}

fn translate(error: &Error) -> StoreError {
    let message = error.as_db_error().map_or_else(|| chain(error), |refusal| refusal.message().to_owned());
    match error.code() {
        Some(&SqlState::DISK_FULL) => StoreError::Full(message),
        _ if is_lost(error) => StoreError::Unavailable(message),
        Some(code) if is_busy(code) => StoreError::Busy(message),
        Some(_) => StoreError::Unusable(format!("the database reported an error: {message}")),
        None => match error.source() {
            Some(source) if source.is::<TlsRefused>() => StoreError::Unusable(source.to_string()),
            _ => StoreError::Unusable(format!("the database reported an error: {message}")),
        },
    }
}

/// The message with its cause, which is what a person can act on.
fn chain(error: &Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

#[async_trait]
impl Backend for Postgres {
    async fn write(&self, batch: Vec<Statement>) -> Result<Rows, WriteError> {
        self.write_within(USUAL, CommitTime::AfterAnswers, batch).await
    }

    async fn append(&self, batch: Vec<Statement>) -> Result<Rows, WriteError> {
        self.write_within(USUAL, CommitTime::WithStatements, batch).await
    }

    async fn write_long(&self, batch: Vec<Statement>) -> Result<Rows, WriteError> {
        self.write_within(LONG, CommitTime::AfterAnswers, batch).await
    }

    async fn read(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
        self.read_within(USUAL, &query).await
    }

    async fn read_long(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
        self.read_within(LONG, &query).await
    }

    fn lock_table(&self, table: &'static str) -> String {
        format!("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
    }

    fn send_hint(&self) {
        self.hints.send(&self.pool);
    }

    async fn wait_for_hint(&self, at_most: Duration) {
        self.hints.wait(at_most).await;
    }
}
