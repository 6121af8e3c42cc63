//! A pool of read-only connections to a SQLite file. Each read is one statement and holds no transaction afterwards, so
//! no reader keeps the write-ahead log from being checkpointed for long.

use super::{execute, readable};
use crate::StoreError;
use crate::sql::{Row, Statement};
use runtime::ports::Clock;
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

const AT_ONCE: usize = 4;

pub(crate) struct Readers {
    shared: Arc<Shared>,
    slots: Semaphore,
}

struct Shared {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, clock: Arc<dyn Clock>) -> Readers {
        let shared = Shared { path, clock, idle: Mutex::default() };
        Readers { shared: Arc::new(shared), slots: Semaphore::new(AT_ONCE) }
    }

    pub(crate) async fn read(&self, query: Statement) -> Result<Vec<Row>, StoreError> {
        let _slot = self.slot().await?;
        let shared = self.shared.clone();
        let ended = |error| StoreError::Unavailable(format!("the thread of a read ended early: {error}"));
        tokio::task::spawn_blocking(move || shared.read(&query)).await.map_err(ended)?
    }

    /// Reads on the calling thread, for queries that take less time than a change of threads.
    pub(crate) async fn read_inline(&self, query: &Statement) -> Result<Vec<Row>, StoreError> {
        let _slot = self.slot().await?;
        self.shared.read(query)
    }

    async fn slot(&self) -> Result<SemaphorePermit<'_>, StoreError> {
        self.slots.acquire().await.map_err(|_| StoreError::Unavailable("the database was closed".into()))
    }
}

impl Shared {
    fn read(&self, query: &Statement) -> Result<Vec<Row>, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = idle.map_or_else(|| readable(&self.path, &self.clock), Ok)?;
        let rows = execute::read(&connection, query);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        rows
    }
}
