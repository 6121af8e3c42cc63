//! A pool of connections to PostgreSQL. A connection that is lost or does not answer is replaced. Only a direct connection
//! keeps session state: its limits and its prepared statements. It must not know transactions: whoever takes a connection ends
//! its own.

use super::prepared::PreparedStatements;
use super::settings::{CONNECT, Settings, SslMode};
use super::tls::Encrypted;
use super::{USUAL, chain, is_lost, limits, translate};
use crate::StoreError;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Connection, Error, Socket};

/// A connection that was idle for this long is probed before it is used.
const STALE: Duration = Duration::from_secs(2);
/// The limit for the answer to a probe.
const PROBE: Duration = Duration::from_secs(1);
/// The limit for a request to cancel a statement.
const CANCEL: Duration = Duration::from_secs(5);
const BETWEEN_TRIES: Duration = Duration::from_millis(250);

pub(crate) struct Pool {
    settings: Settings,
    idle: Mutex<Idle>,
    slots: Semaphore,
    /// No pooler stands between this process and the server.
    is_direct: bool,
}

#[derive(Default)]
struct Idle {
    connections: Vec<(Connected, Instant)>,
    /// Raised when a connection does not answer. Connections of an older generation are not used again, because they
    /// probably went the same way.
    generation: u64,
}

/// A client with the task that reads and writes its socket. Dropping the client aborts the task, even if the server
/// hangs.
pub(crate) struct Connected {
    client: Client,
    /// On a direct connection only.
    pub prepared: Option<PreparedStatements>,
    task: AbortHandle,
}

impl Deref for Connected {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A connection in use. Only `give_back` returns it to the pool. Dropping it, for example in a cancelled future, closes
/// it, and so the server rolls its transaction back.
pub(crate) struct Pooled<'a> {
    pub client: Connected,
    generation: u64,
    _slot: SemaphorePermit<'a>,
}

/// Why no connection was made.
pub(crate) struct ConnectFailure {
    /// The server is starting up or recovering, and will accept connections after that.
    pub starting: bool,
    pub error: StoreError,
}

/// Opens a connection within `CONNECT`. The caller must poll the `Connection`, which reads and writes the socket.
pub(crate) async fn dial(settings: &Settings) -> Result<(Client, Connection<Socket, Encrypted>), ConnectFailure> {
    let first = dial_once(settings).await;
    match first {
        // With sslmode=prefer libpq tries again without TLS when the server refuses TLS. So do we.
        Err(Refused::Server(error)) if settings.mode == SslMode::Prefer && wants_plain(&error) => {
            let mut plain = settings.clone();
            plain.config.ssl_mode(tokio_postgres::config::SslMode::Disable);
            dial_once(&plain).await.map_err(|_| Refused::Server(error).into_failure())
        }
        other => other.map_err(Refused::into_failure),
    }
}

async fn dial_once(settings: &Settings) -> Result<(Client, Connection<Socket, Encrypted>), Refused> {
    match timeout(CONNECT, settings.config.connect(settings.tls.clone())).await {
        Ok(connected) => connected.map_err(Refused::Server),
        Err(_) => Err(Refused::Silent),
    }
}

enum Refused {
    Server(Error),
    Silent,
}

impl Refused {
    fn into_failure(self) -> ConnectFailure {
        match self {
            Refused::Server(error) => ConnectFailure {
                starting: error.code() == Some(&SqlState::CANNOT_CONNECT_NOW),
                error: translate(&error),
            },
            Refused::Silent => ConnectFailure {
                starting: false,
                error: StoreError::Unavailable(format!(
                    "the server did not accept a connection within {} s",
                    CONNECT.as_secs()
                )),
            },
        }
    }
}

fn wants_plain(error: &Error) -> bool {
    match error.code() {
        Some(code) => *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        None => chain(error).contains("TLS") && !is_lost(error),
    }
}

impl Pool {
    pub(crate) fn new(settings: Settings, size: usize, is_direct: bool) -> Pool {
        Pool { settings, idle: Mutex::default(), slots: Semaphore::new(size), is_direct }
    }

    /// Opens the first connection of a process. It waits for a server that is starting up, and calls `on_wait` once.
    pub(crate) async fn open(&self, startup_wait: Duration, on_wait: fn(&str)) -> Result<(), StoreError> {
        let deadline = Instant::now() + startup_wait;
        let mut reported = false;
        loop {
            match self.connect().await {
                Ok(client) => {
                    self.idle().connections.push((client, Instant::now()));
                    return Ok(());
                }
                Err(failure) if failure.starting && Instant::now() < deadline => {
                    if !std::mem::replace(&mut reported, true) {
                        on_wait(&failure.error.to_string());
                    }
                    tokio::time::sleep(BETWEEN_TRIES).await;
                }
                Err(failure) => return Err(failure.error),
            }
        }
    }

    pub(crate) async fn take(&self, deadline: Instant) -> Result<Pooled<'_>, StoreError> {
        let busy = |_| StoreError::Unavailable("all connections of the pool are in use".into());
        let slot = timeout_at(deadline, self.slots.acquire()).await.map_err(busy)?;
        let slot = slot.map_err(|_| StoreError::Unavailable("the pool was closed".into()))?;
        while let Some((client, since, generation)) = self.take_idle() {
            if since.elapsed() < STALE {
                return Ok(Pooled { client, generation, _slot: slot });
            }
            let asked = timeout(PROBE, client.simple_query("")).await;
            match asked {
                Ok(Ok(_)) => return Ok(Pooled { client, generation, _slot: slot }),
                Ok(Err(_)) => {}
                Err(_) => self.drop_idle(),
            }
        }
        let generation = self.idle().generation;
        let client = timeout_at(deadline, self.connect()).await;
        let late = |_| StoreError::Unavailable("the server did not accept a connection in time".into());
        let client = client.map_err(late)?.map_err(|failure| failure.error)?;
        Ok(Pooled { client, generation, _slot: slot })
    }

    fn take_idle(&self) -> Option<(Connected, Instant, u64)> {
        let mut idle = self.idle();
        idle.connections.retain(|(client, _)| !client.is_closed());
        let generation = idle.generation;
        idle.connections.pop().map(|(client, since)| (client, since, generation))
    }

    pub(crate) fn give_back(&self, pooled: Pooled<'_>) {
        let mut idle = self.idle();
        if pooled.generation == idle.generation {
            idle.connections.push((pooled.client, Instant::now()));
        }
    }

    /// Drops a connection that did not answer in time. The server is asked to cancel its statement, so that its locks
    /// are freed. The idle connections are dropped too.
    pub(crate) fn discard(&self, pooled: Pooled<'_>) {
        self.drop_idle();
        let (token, tls) = (pooled.client.cancel_token(), self.settings.tls.clone());
        tokio::spawn(async move {
            if let Ok(Err(error)) = timeout(CANCEL, token.cancel_query(tls)).await {
                tracing::debug!(%error, "the server did not cancel a statement");
            }
        });
    }

    fn drop_idle(&self) {
        let mut idle = self.idle();
        idle.generation += 1;
        idle.connections.clear();
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<Connected, ConnectFailure> {
        let (client, connection) = dial(&self.settings).await?;
        let task = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a database connection ended");
            }
        });
        let connected =
            Connected { client, prepared: self.is_direct.then(PreparedStatements::default), task: task.abort_handle() };
        if self.is_direct {
            let limited = timeout(CONNECT, connected.batch_execute(&limits("SET", USUAL))).await;
            limited
                .map_err(|_| Refused::Silent.into_failure())?
                .map_err(|error| Refused::Server(error).into_failure())?;
        }
        Ok(connected)
    }
}
