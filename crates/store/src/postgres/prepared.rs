//! Statements prepared by name on one connection: the server parses and plans each of them once. Only on a connection
//! without a pooler: a pooler lends the session to others, whose statements have the same names.

use super::{bound, chunks, text};
use crate::sql::{Statement, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

/// Longer inserts are rare and have a text for each length.
const MAX_ROWS: usize = 16;
/// More texts than the store has. A text that is made at run time is never prepared.
const MAX_STATEMENTS: usize = 400;

/// By the text before it is translated, the number of rows, and whether it is guarded.
type Prepared = HashMap<(&'static str, usize, bool), tokio_postgres::Statement>;

#[derive(Default)]
pub(crate) struct PreparedStatements(Mutex<Prepared>);

impl PreparedStatements {
    /// The statement for these rows, if it is prepared for values of these types.
    pub(crate) fn find(&self, statement: &Statement, rows: &[Vec<Value>]) -> Option<tokio_postgres::Statement> {
        let Cow::Borrowed(sql) = statement.sql else { return None };
        let found = self.lock().get(&(sql, rows.len(), statement.guard.is_some())).cloned()?;
        let same = found.params().iter().eq(types(rows).iter());
        same.then_some(found)
    }

    /// Prepares what is missing for a batch. It must happen before the batch is sent: a statement that waits for its
    /// preparation would be sent after the ones behind it.
    pub(crate) async fn prepare(&self, client: &Client, batch: &[Statement]) -> Result<(), Error> {
        for statement in batch {
            let Cow::Borrowed(sql) = statement.sql else { continue };
            for chunk in chunks(statement) {
                let key = (sql, chunk.len(), statement.guard.is_some());
                let is_worth_it = {
                    let known = self.lock();
                    !known.contains_key(&key) && known.len() < MAX_STATEMENTS && chunk.len() <= MAX_ROWS
                };
                if is_worth_it {
                    let prepared = client.prepare_typed(&text(statement, chunk.len()), &types(chunk)).await?;
                    self.lock().insert(key, prepared);
                }
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Prepared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn types(rows: &[Vec<Value>]) -> Vec<Type> {
    rows.iter().flatten().map(|value| bound(value).1).collect()
}
