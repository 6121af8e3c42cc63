//! A few connections to PostgreSQL, replaced when they are lost. No session state is kept on them, so
//! any of them may be a pooler's.

use crate::StoreError;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::{Client, Config, NoTls};

const CONNECT: Duration = Duration::from_secs(5);

pub struct Pool {
    config: Config,
    idle: Mutex<Vec<Client>>,
    slots: Semaphore,
}

/// Goes back to the pool only by `give_back`: one that was dropped half-way is closed, which rolls back.
pub struct Pooled<'a> {
    pub client: Client,
    _slot: SemaphorePermit<'a>,
}

pub fn config(url: &str) -> Result<Config, StoreError> {
    let mut config = Config::from_str(url)
        .map_err(|error| StoreError::Unusable(format!("the database URL is not valid: {error}")))?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    Ok(config)
}

impl Pool {
    pub fn new(config: Config, size: usize) -> Pool {
        Pool { config, idle: Mutex::default(), slots: Semaphore::new(size) }
    }

    pub async fn take(&self) -> Result<Pooled<'_>, StoreError> {
        let slot = self.slots.acquire().await.map_err(|_| StoreError::Unavailable("the pool was closed".into()))?;
        let idle = self.take_idle();
        let client = match idle {
            Some(client) => client,
            None => self.connect().await?,
        };
        Ok(Pooled { client, _slot: slot })
    }

    fn take_idle(&self) -> Option<Client> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|client| !client.is_closed());
        idle.pop()
    }

    pub fn give_back(&self, pooled: Pooled<'_>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(pooled.client);
    }

    async fn connect(&self) -> Result<Client, StoreError> {
        let (client, connection) = self.config.connect(NoTls).await.map_err(|error| super::translate(&error))?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a database connection ended");
            }
        });
        Ok(client)
    }
}
