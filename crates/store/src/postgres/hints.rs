//! `NOTIFY` and `LISTEN`: tells other processes that something was committed. A hint only shortens their wait; they
//! also poll, so a lost hint loses nothing.
//!
//! A hint must not be sent inside a write transaction. PostgreSQL takes one global lock at the commit of a transaction
//! with `NOTIFY`, so all commits would wait for each other.

use super::pool::{Pool, dial};
use super::settings::Settings;
use crate::StoreError;
use futures::StreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::AsyncMessage;

/// One `NOTIFY` covers all commits within this time.
const COALESCE: Duration = Duration::from_millis(50);
const RECONNECT: Duration = Duration::from_secs(1);
const SEND: Duration = Duration::from_secs(5);
/// A listener that received nothing for this long checks that the server still answers.
const QUIET: Duration = Duration::from_secs(15);
const ANSWER: Duration = Duration::from_secs(5);

pub(crate) struct Hints {
    pending: Arc<AtomicBool>,
    received: Arc<Notify>,
    listener: Option<AbortHandle>,
}

impl Hints {
    /// Listens only on a direct connection: a pooler would lend the session to another client.
    pub(crate) fn new(direct: Option<Settings>) -> Hints {
        let received = Arc::new(Notify::new());
        let listener = direct.map(|direct| tokio::spawn(listen(direct, received.clone())).abort_handle());
        Hints { pending: Arc::default(), received, listener }
    }

    /// Sends one `NOTIFY` soon. Further calls until then do nothing.
    pub(crate) fn send(&self, pool: &Arc<Pool>) {
        if self.pending.swap(true, Ordering::AcqRel) {
            return;
        }
        let (pending, pool) = (self.pending.clone(), pool.clone());
        tokio::spawn(async move {
            tokio::time::sleep(COALESCE).await;
            pending.store(false, Ordering::Release);
            let deadline = Instant::now() + SEND;
            let Ok(pooled) = pool.take(deadline).await else { return };
            match timeout_at(deadline, pooled.client.batch_execute("NOTIFY pleach")).await {
                Ok(Ok(())) => pool.give_back(pooled),
                Ok(Err(_)) => {}
                Err(_) => pool.discard(pooled),
            }
        });
    }

    pub(crate) async fn wait(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.received.notified()).await;
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

async fn listen(direct: Settings, received: Arc<Notify>) {
    loop {
        if let Err(error) = listen_once(&direct, &received).await {
            tracing::debug!(%error, "the connection that listens for hints was lost");
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

async fn listen_once(direct: &Settings, received: &Notify) -> Result<(), StoreError> {
    let (client, mut connection) = dial(direct).await.map_err(|failure| failure.error)?;
    let messages = futures::stream::poll_fn(move |context| connection.poll_message(context));
    let mut messages = std::pin::pin!(messages);
    let mut asking = Box::pin(client.batch_execute("LISTEN pleach"));
    let mut deadline = Some(Instant::now() + ANSWER);
    let mut quiet_since = Instant::now();
    loop {
        tokio::select! {
            answer = &mut asking, if deadline.is_some() => {
                answer.map_err(|error| super::translate(&error))?;
                deadline = None;
                quiet_since = Instant::now();
                // Hints of commits before this moment were missed, so the waiters must look now.
                received.notify_waiters();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(_))) => {
                    quiet_since = Instant::now();
                    received.notify_waiters();
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(super::translate(&error)),
                None => return Ok(()),
            },
            () = tokio::time::sleep_until(deadline.unwrap_or(quiet_since + QUIET)) => {
                if deadline.is_some() {
                    return Err(StoreError::Unavailable("the connection that listens for hints does not answer".into()));
                }
                asking = Box::pin(client.batch_execute("SELECT 1"));
                deadline = Some(Instant::now() + ANSWER);
            }
        }
    }
}
