//! The real store as one process sees it: late, forgetful, sometimes silent. Everything is delegated; the
//! faults lie before and after.

use super::faults::{CommitFault, Faults, Turn};
use super::process::Process;
use super::witness::Witness;
use async_trait::async_trait;
use engine::batch::{ArtifactRow, IterationRow, NodeRow, NotificationRow, PlanRow, RunRow, StepRow};
use engine::blob::Hash;
use engine::event::StoredEvent;
use engine::ids::{ActorId, ArtifactId, DocumentId, EdgeId, LessonId, NodeId, PlanId, ProjectId, RunId, TaskId};
use engine::lessons::LessonStatus;
use engine::role::Role;
use engine::run::{Kind, Status};
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Change, Document, Edge, Entry, Project, Scope, Task};
use runtime::agents::{AgentRecord, Agents, Lesson, PadVersion};
use runtime::ports::{
    Append, AppendError, Claimed, DocumentFilter, DocumentVersion, EdgeFilter, Hit, Lease, Library, Log, NodeFilter,
    RunFilter, SearchFilter, Slice, Store, StoreError, TaskFilter,
};
use std::sync::Arc;
use std::time::Duration;

pub struct FaultyStore {
    pub inner: Arc<dyn Store>,
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
        if self.faults.is_unreadable() { Err(away()) } else { Ok(()) }
    }

    fn reached(&self) -> Result<(), StoreError> {
        if self.faults.is_store_away(self.witness.now_ms()) { Err(away()) } else { Ok(()) }
    }

    /// What befalls a request about leases; it never gets further when the database is away.
    async fn lease_turn(&self) -> Result<Turn, StoreError> {
        self.process.pass().await;
        self.reached()?;
        match self.faults.fate_of_lease() {
            Turn::Refused => Err(away()),
            turn => Ok(turn),
        }
    }

    /// The commit itself, and what its sender gets to know.
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
                    self.witness.wrong(format!("1: the same batch of {} was committed twice", append.batch.run_id));
                }
                again
            }
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Log for FaultyStore {
    async fn append(&self, append: Append) -> Result<(), AppendError> {
        self.process.pass().await;
        let asked_ms = self.witness.now_ms();
        let CommitFault { stall, delay, turn } = self.faults.fate_of_append();
        if let Some(time) = stall {
            self.witness.record().stalls += 1;
            self.process.stand_still(time);
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

    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        self.readable().await?;
        self.inner.events(run, after, limit).await
    }

    async fn blobs(&self, hashes: &[Hash]) -> Result<Vec<String>, StoreError> {
        self.readable().await?;
        self.inner.blobs(hashes).await
    }

    async fn claim(
        &self,
        worker: &str,
        limit: usize,
        ttl: Duration,
        only: Option<RunId>,
        driving: &[RunId],
    ) -> Result<Vec<Claimed>, StoreError> {
        let turn = self.lease_turn().await?;
        let claimed = self.inner.claim(worker, limit, ttl, only, driving).await?;
        claimed.iter().for_each(|claimed| self.witness.claimed(claimed, ttl));
        if turn == Turn::ReplyLost { Err(away()) } else { Ok(claimed) }
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        self.readable().await?;
        self.inner.time().await
    }

    async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<RunId>, StoreError> {
        let turn = self.lease_turn().await?;
        let lost = self.inner.renew(leases, ttl).await?;
        self.witness.renewed(leases, &lost, ttl);
        if turn == Turn::ReplyLost { Err(away()) } else { Ok(lost) }
    }

    async fn release(&self, leases: &[Lease]) -> Result<(), StoreError> {
        let turn = self.lease_turn().await?;
        self.inner.release(leases).await?;
        self.witness.released(leases);
        if turn == Turn::ReplyLost { Err(away()) } else { Ok(()) }
    }

    async fn heads(&self, worker: &str) -> Result<Vec<(RunId, u64)>, StoreError> {
        self.readable().await?;
        self.inner.heads(worker).await
    }

    async fn ends(&self, runs: &[RunId]) -> Result<Vec<(RunId, u64)>, StoreError> {
        self.readable().await?;
        self.inner.ends(runs).await
    }

    async fn changed_runs(&self, since: Timestamp) -> Result<Vec<(RunId, Timestamp)>, StoreError> {
        self.readable().await?;
        self.inner.changed_runs(since).await
    }

    async fn census(&self) -> Result<Vec<(Kind, Status, u64)>, StoreError> {
        self.readable().await?;
        self.inner.census().await
    }

    async fn run_of_node(&self, node: NodeId) -> Result<Option<RunId>, StoreError> {
        self.readable().await?;
        self.inner.run_of_node(node).await
    }

    async fn checkpoint(&self, run: RunId, seq: u64, format: i64) -> Result<Option<String>, StoreError> {
        self.readable().await?;
        self.inner.checkpoint(run, seq, format).await
    }

    async fn keep_checkpoint(&self, run: RunId, seq: u64, format: i64, text: String) -> Result<(), StoreError> {
        self.readable().await?;
        self.inner.keep_checkpoint(run, seq, format, text).await
    }

    async fn wakeup(&self, at_most: Duration) {
        self.process.pass().await;
        match self.faults.is_hint_lost() {
            true => tokio::time::sleep(at_most).await,
            false => self.inner.wakeup(at_most).await,
        }
        self.process.pass().await;
    }
}

#[async_trait]
impl Library for FaultyStore {
    async fn runs(&self, scope: &Scope, filter: RunFilter) -> Result<Vec<RunRow>, StoreError> {
        self.readable().await?;
        self.inner.runs(scope, filter).await
    }

    async fn run(&self, scope: &Scope, id: RunId) -> Result<Option<RunRow>, StoreError> {
        self.readable().await?;
        self.inner.run(scope, id).await
    }

    async fn iterations(&self, scope: &Scope, run: RunId, slice: Slice<u32>) -> Result<Vec<IterationRow>, StoreError> {
        self.readable().await?;
        self.inner.iterations(scope, run, slice).await
    }

    async fn nodes(&self, scope: &Scope, run: RunId, filter: NodeFilter) -> Result<Vec<NodeRow>, StoreError> {
        self.readable().await?;
        self.inner.nodes(scope, run, filter).await
    }

    async fn timeline(
        &self,
        scope: &Scope,
        run: RunId,
        node: NodeId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.readable().await?;
        self.inner.timeline(scope, run, node, after, limit).await
    }

    async fn node(&self, scope: &Scope, run: RunId, node: NodeId) -> Result<Option<NodeRow>, StoreError> {
        self.readable().await?;
        self.inner.node(scope, run, node).await
    }

    async fn plans(
        &self,
        scope: &Scope,
        run: RunId,
        node: Option<NodeId>,
        slice: Slice<PlanId>,
    ) -> Result<Vec<PlanRow>, StoreError> {
        self.readable().await?;
        self.inner.plans(scope, run, node, slice).await
    }

    async fn artifacts(
        &self,
        scope: &Scope,
        run: RunId,
        node: Option<NodeId>,
        slice: Slice<ArtifactId>,
    ) -> Result<Vec<ArtifactRow>, StoreError> {
        self.readable().await?;
        self.inner.artifacts(scope, run, node, slice).await
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<StepRow>, StoreError> {
        self.readable().await?;
        self.inner.steps(scope, run).await
    }

    async fn notifications(&self, scope: &Scope, limit: usize) -> Result<Vec<NotificationRow>, StoreError> {
        self.readable().await?;
        self.inner.notifications(scope, limit).await
    }

    async fn projects(
        &self,
        scope: &Scope,
        before: Option<ProjectId>,
        limit: usize,
    ) -> Result<Vec<Project>, StoreError> {
        self.readable().await?;
        self.inner.projects(scope, before, limit).await
    }

    async fn project(&self, scope: &Scope, id: ProjectId) -> Result<Option<Project>, StoreError> {
        self.readable().await?;
        self.inner.project(scope, id).await
    }

    async fn documents(&self, scope: &Scope, filter: DocumentFilter) -> Result<Vec<Document>, StoreError> {
        self.readable().await?;
        self.inner.documents(scope, filter).await
    }

    async fn document(&self, scope: &Scope, id: DocumentId) -> Result<Option<Document>, StoreError> {
        self.readable().await?;
        self.inner.document(scope, id).await
    }

    async fn sees_document(&self, scope: &Scope, id: DocumentId) -> Result<bool, StoreError> {
        self.readable().await?;
        self.inner.sees_document(scope, id).await
    }

    async fn versions(
        &self,
        scope: &Scope,
        id: DocumentId,
        slice: Slice<i64>,
    ) -> Result<Vec<DocumentVersion>, StoreError> {
        self.readable().await?;
        self.inner.versions(scope, id, slice).await
    }

    async fn entries(
        &self,
        scope: &Scope,
        document: DocumentId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.readable().await?;
        self.inner.entries(scope, document, before, limit).await
    }

    async fn tasks(&self, scope: &Scope, filter: TaskFilter) -> Result<Vec<Task>, StoreError> {
        self.readable().await?;
        self.inner.tasks(scope, filter).await
    }

    async fn task(&self, scope: &Scope, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.readable().await?;
        self.inner.task(scope, id).await
    }

    async fn edges(&self, scope: &Scope, filter: EdgeFilter, slice: Slice<EdgeId>) -> Result<Vec<Edge>, StoreError> {
        self.readable().await?;
        self.inner.edges(scope, filter, slice).await
    }

    async fn edge(&self, scope: &Scope, id: EdgeId) -> Result<Option<Edge>, StoreError> {
        self.readable().await?;
        self.inner.edge(scope, id).await
    }

    async fn search(&self, scope: &Scope, query: &str, filter: SearchFilter) -> Result<Vec<Hit>, StoreError> {
        self.readable().await?;
        self.inner.search(scope, query, filter).await
    }

    async fn change(&self, changes: Vec<Change>) -> Result<(), AppendError> {
        self.process.pass().await;
        self.inner.change(changes).await
    }

    async fn create_actor(&self, actor: ActorRecord) -> Result<(), StoreError> {
        self.inner.create_actor(actor).await
    }

    async fn actors(&self, slice: Slice<ActorId>) -> Result<Vec<ActorRecord>, StoreError> {
        self.inner.actors(slice).await
    }

    async fn actor(&self, name: &str) -> Result<Option<ActorRecord>, StoreError> {
        self.inner.actor(name).await
    }

    async fn grant(&self, project: ProjectId, actor: ActorId, role: Role) -> Result<(), StoreError> {
        self.inner.grant(project, actor, role).await
    }

    async fn revoke(&self, project: ProjectId, actor: ActorId) -> Result<bool, StoreError> {
        self.inner.revoke(project, actor).await
    }

    async fn may_steer(&self, scope: &Scope, run: RunId) -> Result<bool, StoreError> {
        self.readable().await?;
        self.inner.may_steer(scope, run).await
    }

    async fn may_write(&self, scope: &Scope, project: ProjectId) -> Result<bool, StoreError> {
        self.readable().await?;
        self.inner.may_write(scope, project).await
    }

    async fn has_room(&self, project: ProjectId) -> Result<bool, StoreError> {
        self.inner.has_room(project).await
    }
}

#[async_trait]
impl Agents for FaultyStore {
    async fn create_agent(&self, agent: AgentRecord) -> Result<(), StoreError> {
        self.readable().await?;
        self.inner.create_agent(agent).await
    }

    async fn agents(&self, owner: ActorId, slice: Slice<ActorId>) -> Result<Vec<AgentRecord>, StoreError> {
        self.readable().await?;
        self.inner.agents(owner, slice).await
    }

    async fn agent(&self, name: &str) -> Result<Option<AgentRecord>, StoreError> {
        self.readable().await?;
        self.inner.agent(name).await
    }

    async fn change_agent(&self, agent: AgentRecord, expected: i64) -> Result<bool, StoreError> {
        self.readable().await?;
        self.inner.change_agent(agent, expected).await
    }

    async fn scratchpad(&self, agent: ActorId) -> Result<Option<PadVersion>, StoreError> {
        self.readable().await?;
        self.inner.scratchpad(agent).await
    }

    async fn scratchpad_versions(
        &self,
        agent: ActorId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<PadVersion>, StoreError> {
        self.readable().await?;
        self.inner.scratchpad_versions(agent, before, limit).await
    }

    async fn lessons(
        &self,
        agent: ActorId,
        status: Option<LessonStatus>,
        before: Option<LessonId>,
        limit: usize,
    ) -> Result<Vec<Lesson>, StoreError> {
        self.readable().await?;
        self.inner.lessons(agent, status, before, limit).await
    }

    async fn lesson(&self, agent: ActorId, lesson: LessonId) -> Result<Option<Lesson>, StoreError> {
        self.readable().await?;
        self.inner.lesson(agent, lesson).await
    }

    async fn pending_lessons(&self, agent: ActorId) -> Result<u64, StoreError> {
        self.readable().await?;
        self.inner.pending_lessons(agent).await
    }
}
