//! Ends open streams whose credential was revoked or whose run can no longer be seen. All streams that depend on the same
//! credential or run share one check, and nothing is checked while no stream is open.

use async_trait::async_trait;
use engine::ids::{KeyId, RunId};
use engine::workspace::Scope;
use runtime::ports::{Clock, Library, StoreError};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::SqlStore;
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, watch};

/// A stream must end within five seconds of what it relies on.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Answers which of these have ended.
#[async_trait]
pub trait RevocationCheck<T>: Send + Sync + 'static {
    async fn ended(&self, of: &[T]) -> Result<Vec<T>, StoreError>;
}

/// Rung when anything ended that streams rely on. That is rare, so one serves for all: whoever hears it looks around.
#[derive(Clone, Default)]
pub struct RevocationSignal(Arc<Signal>);

#[derive(Default)]
struct Signal {
    times: AtomicU64,
    rung: Arc<Notify>,
}

impl RevocationSignal {
    fn ring(&self) {
        self.0.times.fetch_add(1, SeqCst);
        self.0.rung.notify_waiters();
    }

    pub fn times(&self) -> u64 {
        self.0.times.load(SeqCst)
    }

    /// The next time it rings, from now on.
    pub fn next(&self) -> OwnedNotified {
        self.0.rung.clone().notified_owned()
    }
}

pub struct Revocations<T> {
    look: Box<dyn RevocationCheck<T>>,
    revoked: RevocationSignal,
    relied_on: Mutex<HashMap<T, watch::Sender<()>>>,
}

/// Somebody's own sight of the end of what they rely on; the alarm says when to look.
pub struct RevocationWatch(watch::Receiver<()>);

impl RevocationWatch {
    pub fn is_over(&self) -> bool {
        self.0.has_changed().is_err()
    }
}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Revocations<T> {
    pub fn new(look: impl RevocationCheck<T>, revoked: &RevocationSignal) -> Arc<Revocations<T>> {
        Arc::new(Revocations { look: Box::new(look), revoked: revoked.clone(), relied_on: Mutex::default() })
    }

    pub fn end_of(self: &Arc<Self>, thing: T) -> RevocationWatch {
        let mut relied_on = self.relied_on();
        if relied_on.is_empty() {
            tokio::spawn(self.clone().look());
        }
        RevocationWatch(relied_on.entry(thing).or_insert_with(|| watch::channel(()).0).subscribe())
    }

    fn relied_on(&self) -> MutexGuard<'_, HashMap<T, watch::Sender<()>>> {
        self.relied_on.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until nobody listens any more.
    async fn look(self: Arc<Self>) {
        loop {
            tokio::time::sleep(BETWEEN_LOOKS).await;
            let things: Vec<T> = {
                let mut relied_on = self.relied_on();
                relied_on.retain(|_, told| told.receiver_count() > 0);
                if relied_on.is_empty() {
                    return;
                }
                relied_on.keys().cloned().collect()
            };
            let ended = self.look.ended(&things).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "what open streams rely on could not be looked at");
                Vec::new()
            });
            if ended.is_empty() {
                continue;
            }
            let ended: HashSet<T> = ended.into_iter().collect();
            let nothing_left = {
                let mut relied_on = self.relied_on();
                // Removing the sender is what those who look see.
                relied_on.retain(|thing, _| !ended.contains(thing));
                relied_on.is_empty()
            };
            self.revoked.ring();
            if nothing_left {
                return;
            }
        }
    }
}

/// Which credentials are not valid any more.
pub struct KeyCheck {
    pub keys: Arc<SqlStore>,
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl RevocationCheck<KeyId> for KeyCheck {
    async fn ended(&self, of: &[KeyId]) -> Result<Vec<KeyId>, StoreError> {
        self.keys.ended_keys(of, self.clock.now()).await
    }
}

/// A run, as somebody sees it.
pub type RunSight = (Scope, RunId);

/// Which runs may not be seen any more by whom: a membership ended, or the run is gone.
pub struct RunSightCheck(pub Arc<SqlStore>);

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
