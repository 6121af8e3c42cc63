//! Ends open streams whose credential was revoked or whose run can no longer be seen. All streams that depend on the same
//! credential or run share one check, and nothing is checked while no stream is open.

use async_trait::async_trait;
use engine::ids::{CredentialId, RunId};
use engine::workspace::Scope;
use runtime::ports::{Clock, Library, StoreError};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::SqlStore;
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, watch};

/// A stream must end within five seconds of its revocation.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Says which of the things that streams depend on have ended.
#[async_trait]
pub(crate) trait RevocationCheck<T>: Send + Sync + 'static {
    async fn ended(&self, of: &[T]) -> Result<Vec<T>, StoreError>;
}

/// Raised when anything ended that streams depend on. That is rare, so one signal serves all streams, and each checks its own.
#[derive(Clone, Default)]
pub(crate) struct RevocationSignal(Arc<Notify>);

impl RevocationSignal {
    fn raise(&self) {
        self.0.notify_waiters();
    }

    /// Completes the next time it is raised.
    pub(crate) fn next(&self) -> OwnedNotified {
        self.0.clone().notified_owned()
    }
}

pub(crate) struct Revocations<T> {
    check: Box<dyn RevocationCheck<T>>,
    revoked: RevocationSignal,
    watched: Mutex<HashMap<T, watch::Sender<()>>>,
}

/// Tells one stream whether what it depends on has ended. The signal says when to ask.
pub(crate) struct RevocationWatch(watch::Receiver<()>);

impl RevocationWatch {
    pub(crate) fn is_over(&self) -> bool {
        self.0.has_changed().is_err()
    }
}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Revocations<T> {
    pub(crate) fn new(check: impl RevocationCheck<T>, revoked: &RevocationSignal) -> Arc<Revocations<T>> {
        Arc::new(Revocations { check: Box::new(check), revoked: revoked.clone(), watched: Mutex::default() })
    }

    pub(crate) fn watch(self: &Arc<Self>, thing: T) -> RevocationWatch {
        let mut watched = self.watched();
        if watched.is_empty() {
            tokio::spawn(self.clone().poll());
        }
        RevocationWatch(watched.entry(thing).or_insert_with(|| watch::channel(()).0).subscribe())
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<T, watch::Sender<()>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs until no stream is left.
    async fn poll(self: Arc<Self>) {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let things: Vec<T> = {
                let mut watched = self.watched();
                watched.retain(|_, sender| sender.receiver_count() > 0);
                if watched.is_empty() {
                    return;
                }
                watched.keys().cloned().collect()
            };
            let ended = self.check.ended(&things).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "revocations could not be checked; open streams go on until the next check");
                Vec::new()
            });
            if ended.is_empty() {
                continue;
            }
            let ended: HashSet<T> = ended.into_iter().collect();
            let nothing_left = {
                let mut watched = self.watched();
                // Dropping the sender is how a watch learns of the end.
                watched.retain(|thing, _| !ended.contains(thing));
                watched.is_empty()
            };
            self.revoked.raise();
            if nothing_left {
                return;
            }
        }
    }
}

/// Which credentials are no longer valid.
pub(crate) struct CredentialCheck {
    pub store: Arc<SqlStore>,
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl RevocationCheck<CredentialId> for CredentialCheck {
    async fn ended(&self, of: &[CredentialId]) -> Result<Vec<CredentialId>, StoreError> {
        self.store.ended_credentials(of, self.clock.now()).await
    }
}

/// A run together with the scope through which a reader sees it.
pub(crate) type RunSight = (Scope, RunId);

/// Which runs their readers can no longer see, because a membership ended or the run was removed.
pub(crate) struct RunSightCheck(pub Arc<SqlStore>);

#[async_trait]
impl RevocationCheck<RunSight> for RunSightCheck {
    async fn ended(&self, of: &[RunSight]) -> Result<Vec<RunSight>, StoreError> {
        let mut ended = Vec::new();
        for (scope, run) in of {
            if self.0.run(scope, *run).await?.is_none() {
                ended.push((scope.clone(), *run));
            }
        }
        Ok(ended)
    }
}
