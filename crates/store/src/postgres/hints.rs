//! Telling other processes that there is something new. A hint only shortens their wait; polling is
//! the guarantee. Never sent inside a write transaction: the server serialises those on one lock.

use super::pool::Pool;
use futures::StreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_postgres::{AsyncMessage, Config, NoTls};

const COALESCE: Duration = Duration::from_millis(50);
const RECONNECT: Duration = Duration::from_secs(1);

pub struct Hints {
    pending: Arc<AtomicBool>,
    heard: Arc<Notify>,
    listener: Option<AbortHandle>,
}

impl Hints {
    /// Listens only on a direct connection: a pooler would give the session to someone else.
    pub fn new(direct: Option<Config>) -> Hints {
        let heard = Arc::new(Notify::new());
        let listener = direct.map(|direct| tokio::spawn(listen(direct, heard.clone())).abort_handle());
        Hints { pending: Arc::default(), heard, listener }
    }

    /// One notification for everything committed within the next moment.
    pub fn send(&self, pool: &Arc<Pool>) {
        if self.pending.swap(true, Ordering::AcqRel) {
            return;
        }
        let (pending, pool) = (self.pending.clone(), pool.clone());
        tokio::spawn(async move {
            tokio::time::sleep(COALESCE).await;
            pending.store(false, Ordering::Release);
            let Ok(pooled) = pool.take().await else { return };
            if pooled.client.batch_execute("NOTIFY pleach").await.is_ok() {
                pool.give_back(pooled);
            }
        });
    }

    pub async fn heard(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.heard.notified()).await;
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

async fn listen(direct: Config, heard: Arc<Notify>) {
    loop {
        if let Err(error) = listen_once(&direct, &heard).await {
            tracing::debug!(%error, "listening for hints was interrupted");
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

async fn listen_once(direct: &Config, heard: &Notify) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = direct.connect(NoTls).await?;
    let messages = futures::stream::poll_fn(move |context| connection.poll_message(context));
    let mut messages = std::pin::pin!(messages);
    let mut listening = std::pin::pin!(client.batch_execute("LISTEN pleach"));
    let mut asked = false;
    loop {
        tokio::select! {
            answer = &mut listening, if !asked => {
                answer?;
                asked = true;
                // What was committed before this moment was not heard.
                heard.notify_waiters();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(_))) => heard.notify_waiters(),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            }
        }
    }
}
