//! The seam between the store's one set of statements and the databases that run them.

use crate::StoreError;
use crate::sql::{Guard, Row, Statement};
use async_trait::async_trait;
use std::time::Duration;

/// Grouped by what the caller does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WriteError {
    /// A guard saw no row; nothing was written. Look again and decide.
    Refused(Guard),
    /// The connection went away during the commit: it may or may not have happened. Look before trying again.
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
    /// All of the statements in one transaction, in order, or none of them. Durable when it returns.
    /// Rows come back per statement.
    async fn write(&self, batch: Vec<Statement>) -> Result<Vec<Vec<Row>>, WriteError>;
    async fn read(&self, query: Statement) -> Result<Vec<Row>, StoreError>;
    /// An operator's work on much of the database at once, which may take longer than a request can wait.
    async fn write_long(&self, batch: Vec<Statement>) -> Result<Vec<Vec<Row>>, WriteError> {
        self.write(batch).await
    }
    async fn read_long(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
        self.read(query).await
    }
    /// A read of a few rows by their keys: so short that waiting for a thread would cost more.
    async fn read_inline(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
        self.read(query).await
    }
    /// What the database finds wrong with itself, in words.
    async fn self_check(&self, _quick: bool) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
    /// The statement that keeps other writers off a table until the batch ends.
    fn alone_with(&self, table: &'static str) -> String;
    /// Something was committed that other processes may wait for.
    fn hint(&self);
    /// Returns on a hint from another process, or after `at_most`.
    async fn hinted(&self, at_most: Duration);
}
