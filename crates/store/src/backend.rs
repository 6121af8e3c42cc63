//! The trait that SQLite and PostgreSQL implement: run a batch in one transaction, run a query. It must not know any
//! table.

use crate::StoreError;
use crate::sql::{Guard, Row, Statement};
use async_trait::async_trait;
use std::time::Duration;

/// Why a batch was not committed, grouped by what the caller does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WriteError {
    /// A guarded statement touched no row, so the transaction was rolled back. Read again and decide.
    Refused(Guard),
    /// The connection was lost during `COMMIT`, so the transaction may or may not be committed. Read before trying
    /// again.
    Unknown(String),
    Store(StoreError),
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        WriteError::Store(error)
    }
}

#[async_trait]
pub(crate) trait Backend: Send + Sync + 'static {
    /// Runs the statements in order, in one transaction. The commit is durable when this returns. The result has the
    /// rows of each statement.
    async fn write(&self, batch: Vec<Statement>) -> Result<Vec<Vec<Row>>, WriteError>;
    /// The same for a caller who can find out whether an unknown commit happened. It may take fewer round trips, and
    /// any lost connection leaves the commit unknown.
    async fn append(&self, batch: Vec<Statement>) -> Result<Vec<Vec<Row>>, WriteError> {
        self.write(batch).await
    }
    async fn read(&self, query: Statement) -> Result<Vec<Row>, StoreError>;
    /// The same for maintenance, which may take longer than a request may wait.
    async fn write_long(&self, batch: Vec<Statement>) -> Result<Vec<Vec<Row>>, WriteError> {
        self.write(batch).await
    }
    async fn read_long(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
        self.read(query).await
    }
    /// Reads a few rows by their keys on the calling thread. Handing so short a read to another thread would cost more.
    async fn read_inline(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
        self.read(query).await
    }
    /// The problems that the database's own integrity check finds.
    async fn self_check(&self, _quick: bool) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
    /// A statement that keeps other writers off the table until the transaction ends.
    fn lock_table(&self, table: &'static str) -> String;
    /// Tells other processes that something was committed. It may get lost; those processes also poll.
    fn send_hint(&self);
    /// Returns on a hint from another process, or after `at_most`.
    async fn wait_for_hint(&self, at_most: Duration);
}
