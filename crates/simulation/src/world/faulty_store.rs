//! The store as one simulated process reaches it: calls are delayed, fail, or lose their reply. Every call is passed on to
//! the real store, with faults before and after it. Knows nothing of runs or documents.

use super::faults::{CommitFault, Faults, Turn};
use super::process::Process;
use super::witness::Witness;
use async_trait::async_trait;
use engine::batch::{NodeRow, RunRow, StepRow};
use engine::blob::Hash;
use engine::event::StoredEvent;
use engine::ids::{ActorId, DocumentId, EdgeId, ProjectId, RunId, TaskId};
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Document, Edge, Project, Scope, Task};
use runtime::agents::{AgentRecord, ScratchpadVersion};
use runtime::ports::{
    Append, AppendError, Claimed, DocumentFilter, EdgeFilter, Hit, Lease, Library, Log, RunFilter, SearchFilter, Slice,
    StoreError, TaskFilter,
};
use std::sync::Arc;
use std::time::Duration;
use store::SqlStore;

pub struct FaultyStore {
    pub inner: Arc<SqlStore>,
    pub process: Arc<Process>,
    pub faults: Arc<Faults>,
    pub witness: Arc<Witness>,
}

fn away() -> StoreError {
    StoreError::Unavailable("the simulated database went away".into())
}

impl FaultyStore {
    async fn readable(&self) -> Result<(), StoreError> {
        self.process.pass().await;
        self.reached()?;
        if self.faults.happens(|rates| rates.store.unreadable) { Err(away()) } else { Ok(()) }
    }

    fn reached(&self) -> Result<(), StoreError> {
        if self.faults.is_store_away(self.witness.now_ms()) { Err(away()) } else { Ok(()) }
    }

    /// A lease request is refused before it is made, or its reply is lost; the process never dies of it.
    async fn lease<T: Send>(
        &self,
        request: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.process.pass().await;
        self.reached()?;
        if self.faults.happens(|rates| rates.store.refused) {
            return Err(away());
        }
        let reply_lost = self.faults.happens(|rates| rates.store.reply_lost);
        let reply = request.await?;
        if reply_lost { Err(away()) } else { Ok(reply) }
    }

    /// The commit, and the reply its sender gets.
    async fn attempt(&self, append: Append, turn: Turn, asked_ms: u64) -> Result<(), AppendError> {
        match turn {
            Turn::CrashBefore => return self.process.die().await,
            Turn::Refused => return Err(away().into()),
            _ => {}
        }
        self.inner.append(append.clone()).await?;
        self.witness.committed(&self.process.name, asked_ms, &append);
        match turn {
            Turn::CrashAfter => self.process.die().await,
            Turn::ReplyLost => Err(away().into()),
            Turn::SentTwice => {
                let again = self.inner.append(append.clone()).await;
                if again.is_ok() {
                    self.witness.violation(format!("1: the same batch of {} was committed twice", append.batch.run_id));
                }
                again
            }
            _ => Ok(()),
        }
    }
}

/// Implements a port whose named methods only read: each may find the database unreachable. Other methods are given in full.
macro_rules! reads {
    ($port:ident: $(fn $name:ident($($arg:ident: $type:ty),*) -> $found:ty;)* { $($written_out:tt)* }) => {
        #[async_trait]
        impl $port for FaultyStore {
            $(async fn $name(&self, $($arg: $type),*) -> Result<$found, StoreError> {
                self.readable().await?;
                self.inner.$name($($arg),*).await
            })*
            $($written_out)*
        }
    };
}

reads! { Log:
    fn events(run: RunId, after: u64, limit: usize) -> Vec<StoredEvent>;
    fn run_row(run: RunId) -> Option<RunRow>;
    fn time() -> Timestamp;
    fn last_seqs_of_worker(worker: &str) -> Vec<(RunId, u64)>;
    fn last_seqs(runs: &[RunId]) -> Vec<(RunId, u64)>;
    fn changed_runs(since: Timestamp) -> Vec<(RunId, Timestamp)>;
    fn checkpoint(run: RunId, seq: u64, format: i64) -> Option<String>;
    fn store_checkpoint(run: RunId, seq: u64, format: i64, text: String) -> ();
    {
        async fn append(&self, append: Append) -> Result<(), AppendError> {
            self.process.pass().await;
            let asked_ms = self.witness.now_ms();
            let CommitFault { stall, delay, turn } = self.faults.fate_of_append();
            if let Some(time) = stall {
                self.witness.record().stalls += 1;
                self.process.stall(time);
                self.process.pass().await;
            }
            if let Some(time) = delay {
                tokio::time::sleep(time).await;
                self.process.pass().await;
            }
            self.reached()?;
            let result = self.attempt(append, turn, asked_ms).await;
            self.process.pass().await;
            result
        }

        async fn claim(
            &self,
            worker: &str,
            limit: usize,
            ttl: Duration,
            only: Option<RunId>,
            driving: &[RunId],
        ) -> Result<Vec<Claimed>, StoreError> {
            self.lease(async {
                let claimed = self.inner.claim(worker, limit, ttl, only, driving).await?;
                claimed.iter().for_each(|claimed| self.witness.claimed(claimed, ttl));
                Ok(claimed)
            })
            .await
        }

        async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<RunId>, StoreError> {
            self.lease(async {
                let lost = self.inner.renew(leases, ttl).await?;
                self.witness.renewed(leases, &lost, ttl);
                Ok(lost)
            })
            .await
        }

        async fn release(&self, leases: &[Lease]) -> Result<(), StoreError> {
            self.lease(async {
                self.inner.release(leases).await?;
                self.witness.released(leases);
                Ok(())
            })
            .await
        }

        async fn wakeup(&self, at_most: Duration) {
            self.process.pass().await;
            match self.faults.happens(|rates| rates.store.wakeup_lost) {
                true => tokio::time::sleep(at_most).await,
                false => self.inner.wakeup(at_most).await,
            }
            self.process.pass().await;
        }
    }
}

reads! { Library:
    fn runs(scope: &Scope, filter: RunFilter) -> Vec<RunRow>;
    fn run(scope: &Scope, id: RunId) -> Option<RunRow>;
    fn steps(scope: &Scope, run: RunId) -> Vec<StepRow>;
    fn first_nodes(scope: &Scope, run: RunId, limit: usize) -> Vec<NodeRow>;
    fn projects(scope: &Scope, before: Option<ProjectId>, limit: usize) -> Vec<Project>;
    fn project(scope: &Scope, id: ProjectId) -> Option<Project>;
    fn documents(scope: &Scope, filter: DocumentFilter) -> Vec<Document>;
    fn document(scope: &Scope, id: DocumentId) -> Option<Document>;
    fn tasks(scope: &Scope, filter: TaskFilter) -> Vec<Task>;
    fn task(scope: &Scope, id: TaskId) -> Option<Task>;
    fn edges(scope: &Scope, filter: EdgeFilter, slice: Slice<EdgeId>) -> Vec<Edge>;
    fn edge(scope: &Scope, id: EdgeId) -> Option<Edge>;
    fn search(scope: &Scope, query: &str, filter: SearchFilter) -> Vec<Hit>;
    fn actor(name: &str) -> Option<ActorRecord>;
    fn agent(name: &str) -> Option<AgentRecord>;
    fn scratchpad(agent: ActorId) -> Option<ScratchpadVersion>;
    fn pending_lessons(agent: ActorId) -> u64;
    fn blobs(hashes: &[Hash]) -> Vec<String>;
    fn may_steer(scope: &Scope, run: RunId) -> bool;
    fn may_write(scope: &Scope, project: ProjectId) -> bool;
    fn has_room(project: ProjectId) -> bool;
    {}
}
