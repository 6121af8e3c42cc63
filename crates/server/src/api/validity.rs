//! Credentials that open streams rely on, looked at again and again: one question for all of them, while there are any.

use engine::ids::KeyId;
use futures::FutureExt;
use futures::future::BoxFuture;
use runtime::keys::Keys;
use runtime::ports::Clock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// A stream must end within five seconds of its credential.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

pub struct Validity {
    keys: Arc<dyn Keys>,
    clock: Arc<dyn Clock>,
    relied_on: Mutex<HashMap<KeyId, watch::Sender<()>>>,
}

impl Validity {
    pub fn new(keys: Arc<dyn Keys>, clock: Arc<dyn Clock>) -> Arc<Validity> {
        Arc::new(Validity { keys, clock, relied_on: Mutex::default() })
    }

    /// Comes to its end with the credential.
    pub fn end_of(self: &Arc<Self>, key: KeyId) -> BoxFuture<'static, ()> {
        let mut ended = {
            let mut relied_on = self.relied_on();
            if relied_on.is_empty() {
                tokio::spawn(self.clone().look());
            }
            relied_on.entry(key).or_insert_with(|| watch::channel(()).0).subscribe()
        };
        async move { while ended.changed().await.is_ok() {} }.boxed()
    }

    fn relied_on(&self) -> MutexGuard<'_, HashMap<KeyId, watch::Sender<()>>> {
        self.relied_on.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until nobody listens any more.
    async fn look(self: Arc<Self>) {
        loop {
            tokio::time::sleep(BETWEEN_LOOKS).await;
            let keys: Vec<KeyId> = {
                let mut relied_on = self.relied_on();
                relied_on.retain(|_, told| told.receiver_count() > 0);
                if relied_on.is_empty() {
                    return;
                }
                relied_on.keys().copied().collect()
            };
            let ended = self.keys.ended_keys(&keys, self.clock.now()).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "credentials of open streams could not be looked at");
                Vec::new()
            });
            let mut relied_on = self.relied_on();
            // Removing the sender tells those who listen.
            relied_on.retain(|key, _| !ended.contains(key));
            if relied_on.is_empty() {
                return;
            }
        }
    }
}
