//! The store as a process reaches it: it can be away, lose the answer to a commit, or let somebody else in before a commit.

use async_trait::async_trait;
use engine::batch::RunRow;
use engine::event::StoredEvent;
use engine::ids::RunId;
use engine::time::Timestamp;
use futures::future::BoxFuture;
use runtime::ports::{Append, AppendError, Claimed, Lease, Log, StoreError};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::SqlStore;

type Intervention = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

pub struct FaultyLog {
    store: Arc<SqlStore>,
    is_away: AtomicBool,
    loses_next_answer: AtomicBool,
    /// Happens right before the next append that changes the workspace or carries no lease.
    intervention: Mutex<Option<Intervention>>,
    appends: Mutex<Vec<Append>>,
}

impl FaultyLog {
    pub fn over(store: Arc<SqlStore>) -> Arc<FaultyLog> {
        Arc::new(FaultyLog {
            store,
            is_away: AtomicBool::new(false),
            loses_next_answer: AtomicBool::new(false),
            intervention: Mutex::default(),
            appends: Mutex::default(),
        })
    }

    pub fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, SeqCst);
    }

    pub fn lose_next_answer(&self) {
        self.loses_next_answer.store(true, SeqCst);
    }

    pub fn before_next_append<F>(&self, act: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        *self.intervention.lock().unwrap() = Some(Box::new(move || Box::pin(act())));
    }

    /// Everything this process tried to append, in order.
    pub fn appends(&self) -> Vec<Append> {
        self.appends.lock().unwrap().clone()
    }

    fn reach(&self) -> Result<&SqlStore, StoreError> {
        match self.is_away.load(SeqCst) {
            true => Err(StoreError::Unavailable("the test took it away".into())),
            false => Ok(&self.store),
        }
    }
}

#[async_trait]
impl Log for FaultyLog {
    async fn append(&self, append: Append) -> Result<(), AppendError> {
        let store = self.reach()?;
        self.appends.lock().unwrap().push(append.clone());
        if append.fence.is_none() || !append.batch.changes.is_empty() {
            let intervention = self.intervention.lock().unwrap().take();
            if let Some(act) = intervention {
                act().await;
            }
        }
        store.append(append).await?;
        match self.loses_next_answer.swap(false, SeqCst) {
            true => Err(StoreError::Unavailable("the answer was lost".into()).into()),
            false => Ok(()),
        }
    }

    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        self.reach()?.events(run, after, limit).await
    }

    async fn run_row(&self, run: RunId) -> Result<Option<RunRow>, StoreError> {
        self.reach()?.run_row(run).await
    }

    async fn claim(
        &self,
        worker: &str,
        limit: usize,
        ttl: Duration,
        only: Option<RunId>,
        driving: &[RunId],
    ) -> Result<Vec<Claimed>, StoreError> {
        self.reach()?.claim(worker, limit, ttl, only, driving).await
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        self.reach()?.time().await
    }

    async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<RunId>, StoreError> {
        self.reach()?.renew(leases, ttl).await
    }

    async fn release(&self, leases: &[Lease]) -> Result<(), StoreError> {
        self.reach()?.release(leases).await
    }

    async fn last_seqs_of_worker(&self, worker: &str) -> Result<Vec<(RunId, u64)>, StoreError> {
        self.reach()?.last_seqs_of_worker(worker).await
    }

    async fn last_seqs(&self, runs: &[RunId]) -> Result<Vec<(RunId, u64)>, StoreError> {
        self.reach()?.last_seqs(runs).await
    }

    async fn changed_runs(&self, since: Timestamp) -> Result<Vec<(RunId, Timestamp)>, StoreError> {
        self.reach()?.changed_runs(since).await
    }

    async fn checkpoint(&self, run: RunId, seq: u64, format: i64) -> Result<Option<String>, StoreError> {
        self.reach()?.checkpoint(run, seq, format).await
    }

    async fn store_checkpoint(&self, run: RunId, seq: u64, format: i64, text: String) -> Result<(), StoreError> {
        self.reach()?.store_checkpoint(run, seq, format, text).await
    }

    async fn wakeup(&self, at_most: Duration) {
        self.store.wakeup(at_most).await;
    }
}
