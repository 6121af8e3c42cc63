//! What the loop needs from the world. The ports belong to the loop; stores and performers fit them.

use crate::agents::{AgentRecord, ScratchpadVersion};
use async_trait::async_trait;
use engine::actor::ActorKind;
use engine::batch::{Batch, NodeRow, Rows, RunRow, StepRow};
use engine::blob::Hash;
use engine::effect::{EffectAttempt, Outcome, ToolCall};
use engine::event::StoredEvent;
use engine::ids::{ActorId, DocumentId, EdgeId, ProjectId, RunId, TaskId};
use engine::run::{Kind, Status};
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Document, Edge, Project, Scope, Task, TaskState};
use std::time::Duration;

/// Wall time. It may jump in either direction, so nothing is measured with it: a run's working time and its waits follow
/// `run_clock`. Sleeping is tokio's, so that a simulation can move both.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
}

/// Performs one piece of work at the edge of the world. Failures are data, never panics or errors.
#[async_trait]
pub trait Performer: Send + Sync + 'static {
    async fn perform(&self, attempt: EffectAttempt) -> Outcome;

    /// Whether a call of a built-in tool must see what calls before it changed, so that those changes are committed first.
    fn sees_earlier_changes(&self, _call: &ToolCall) -> bool {
        true
    }
}

/// The right to drive one run, until it lapses or someone else is given a higher epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub run_id: RunId,
    pub worker: String,
    pub epoch: i64,
}

/// A run that was claimed, and when its last driver was last seen alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub lease: Lease,
    pub last_seen: Option<Timestamp>,
    /// When it was claimed, by the clock that `last_seen` is by: the database's.
    pub at: Timestamp,
}

/// One fenced transaction.
#[derive(Clone, Debug)]
pub struct Append {
    pub batch: Batch,
    pub rows: Rows,
    /// The driver's lease. `None` for a command given from outside the driver; the expected seq orders it.
    pub fence: Option<Lease>,
    /// Creating a run and claiming it in one commit.
    pub claim_for: Option<String>,
}

/// Grouped by what the caller does next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Someone else drives this run now: drop everything.
    #[error("the lease on run {0} was lost")]
    LeaseLost(RunId),
    /// The log grew meanwhile: fold the new events and decide again.
    #[error("the log of run {run_id} ends at {last_seq}, not where it was expected")]
    Moved { run_id: RunId, last_seq: u64 },
    /// An entity changed under a tool (its id): run the tool again on the new version.
    #[error("{0} was changed by someone else meanwhile")]
    Conflict(uuid::Uuid),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Try again later: the database is away or busy.
    #[error("the database is not reachable: {0}")]
    Unavailable(String),
    /// Try again soon: the database answers, and was too busy or others were faster.
    #[error("the database is busy: {0}")]
    Busy(String),
    /// No space left; nothing was written.
    #[error("the disk is full: {0}")]
    Full(String),
    /// This program cannot go on with this database.
    #[error("{0}")]
    Unusable(String),
}

/// The log of each run and the leases on it: all that the loop needs of a database.
#[async_trait]
pub trait Log: Send + Sync + 'static {
    async fn append(&self, append: Append) -> Result<(), AppendError>;
    /// In order, after `after`, at most `limit`. Empty for an unknown run.
    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError>;

    /// The run as its log left it, whoever may see it.
    async fn run_row(&self, run: RunId) -> Result<Option<RunRow>, StoreError>;

    /// Lease up to `limit` runs that nobody holds and that are live (queued or running), or wait for people past
    /// their `wake_at`; or only `only`. Owners take turns: whoever has the fewest runs held comes first, and of one owner's
    /// runs the oldest.
    /// Runs in `driving` are left out, lapsed or not: the caller has a living driver for each, and a process never takes
    /// over from itself.
    /// Of one subagent's tasks only one is held at a time; the others wait for their turn.
    /// Raises the epoch and counts the attempt; the database's clock decides what has lapsed.
    async fn claim(
        &self,
        worker: &str,
        limit: usize,
        ttl: Duration,
        only: Option<RunId>,
        driving: &[RunId],
    ) -> Result<Vec<Claimed>, StoreError>;
    /// The database's clock: the only one that all processes share.
    async fn time(&self) -> Result<Timestamp, StoreError>;
    /// Prolong; returns the leases that are lost. Also the heartbeat that says when a driver was last alive.
    async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<RunId>, StoreError>;
    /// Give runs back at once.
    async fn release(&self, leases: &[Lease]) -> Result<(), StoreError>;
    /// Where the logs of the runs this worker holds end: how commands given elsewhere are noticed.
    async fn last_seqs_of_worker(&self, worker: &str) -> Result<Vec<(RunId, u64)>, StoreError>;
    /// Where the logs of these runs end, whoever drives them; unknown runs are left out.
    async fn last_seqs(&self, runs: &[RunId]) -> Result<Vec<(RunId, u64)>, StoreError>;
    /// Runs whose log grew after `since`, by the clocks of those who drive them, at most a thousand, newest first.
    async fn changed_runs(&self, since: Timestamp) -> Result<Vec<(RunId, Timestamp)>, StoreError>;
    /// The newest checkpoint of a run's view at or before `seq`.
    async fn checkpoint(&self, run: RunId, seq: u64, format: i64) -> Result<Option<String>, StoreError>;
    /// Only saves time: a checkpoint can be made again from the log.
    async fn store_checkpoint(&self, run: RunId, seq: u64, format: i64, text: String) -> Result<(), StoreError>;
    /// Returns when there may be something new, at the latest after `at_most`. A hint, never a promise.
    async fn wakeup(&self, at_most: Duration);
}

/// A part of a list. Every list that can grow is asked for in parts, and the database counts them off.
#[derive(Clone, Copy, Debug)]
pub struct Slice<C> {
    /// Only what comes behind this one, in the order of the list.
    pub after: Option<C>,
    pub limit: usize,
}

impl<C> Slice<C> {
    /// The beginning of a list.
    pub fn first(limit: usize) -> Slice<C> {
        Slice { after: None, limit }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeFilter {
    pub src: Option<uuid::Uuid>,
    pub dst: Option<uuid::Uuid>,
    /// Only those this run made.
    pub run_id: Option<RunId>,
}

#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    pub kind: Option<Kind>,
    pub status: Option<Status>,
    pub text: Option<String>,
    /// Only the tasks of this subagent.
    pub agent: Option<ActorId>,
    /// Only runs that can still be answered: not over, and with something asked.
    pub asking: bool,
    /// Older than this one.
    pub before: Option<RunId>,
    pub limit: usize,
}

#[derive(Clone, Debug, Default)]
pub struct DocumentFilter {
    pub project_id: Option<ProjectId>,
    /// Asking by type or by role is the only way to see the platform's own documents (those with a `doc_role`), unless
    /// `run_id` is set.
    pub type_key: Option<String>,
    pub doc_role: Option<String>,
    /// Everything this run made, the platform's documents included.
    pub run_id: Option<RunId>,
    /// As the run stamped it on. There is no index of these: they are for the documents of one run.
    pub branch_id: Option<String>,
    pub iteration: Option<u32>,
    /// Older than this one.
    pub before: Option<DocumentId>,
    pub limit: usize,
}

impl DocumentFilter {
    /// Only people's own, where nothing asks for the platform's.
    pub fn hides_platform(&self) -> bool {
        self.type_key.is_none() && self.doc_role.is_none() && self.run_id.is_none()
    }

    /// Something is asked that only the props of each document tell.
    pub fn asks_props(&self) -> bool {
        self.branch_id.is_some() || self.iteration.is_some()
    }

    pub fn fits_props(&self, props: &serde_json::Value) -> bool {
        let iteration = self.iteration.map(u64::from);
        self.branch_id.as_ref().is_none_or(|branch| props["branch_id"].as_str() == Some(branch))
            && (iteration.is_none() || props["iteration"].as_u64() == iteration)
    }
}

#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    pub project_id: Option<ProjectId>,
    pub state: Option<TaskState>,
    pub run_id: Option<RunId>,
    /// Older than this one.
    pub before: Option<TaskId>,
    pub limit: usize,
}

#[derive(Clone, Debug, Default)]
pub struct SearchFilter {
    /// Of these kinds only; of all when empty.
    pub kinds: Vec<HitKind>,
    /// Only documents of this type: the one way to find the platform's own, the entries of scratchpads included.
    pub type_key: Option<String>,
    pub project_id: Option<ProjectId>,
    /// Only what this run made.
    pub run_id: Option<RunId>,
    /// Older than this one.
    pub before: Option<uuid::Uuid>,
    pub limit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HitKind {
    Document,
    Task,
    Project,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Hit {
    pub kind: HitKind,
    pub id: uuid::Uuid,
    pub project_id: ProjectId,
    pub title: String,
    /// Up to 200 characters of the text.
    pub excerpt: String,
}

/// What tools and pages read. Whoever holds a `Library` cannot write: a tool returns its changes, and they commit with its
/// result. Every query takes a `Scope`; outside it is `None` or absent.
#[async_trait]
pub trait Library: Send + Sync + 'static {
    /// Newest first. A run is visible to its owner, and to members of all of its projects where it has any.
    async fn runs(&self, scope: &Scope, filter: RunFilter) -> Result<Vec<RunRow>, StoreError>;
    async fn run(&self, scope: &Scope, id: RunId) -> Result<Option<RunRow>, StoreError>;
    /// A task's steps, in order.
    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<StepRow>, StoreError>;
    /// The first nodes of a tree, in the order they were made.
    async fn first_nodes(&self, scope: &Scope, run: RunId, limit: usize) -> Result<Vec<NodeRow>, StoreError>;

    /// Newest first, older than `before`.
    async fn projects(
        &self,
        scope: &Scope,
        before: Option<ProjectId>,
        limit: usize,
    ) -> Result<Vec<Project>, StoreError>;
    async fn project(&self, scope: &Scope, id: ProjectId) -> Result<Option<Project>, StoreError>;
    /// Newest first; `content` is left empty in lists.
    async fn documents(&self, scope: &Scope, filter: DocumentFilter) -> Result<Vec<Document>, StoreError>;
    async fn document(&self, scope: &Scope, id: DocumentId) -> Result<Option<Document>, StoreError>;
    async fn tasks(&self, scope: &Scope, filter: TaskFilter) -> Result<Vec<Task>, StoreError>;
    async fn task(&self, scope: &Scope, id: TaskId) -> Result<Option<Task>, StoreError>;
    /// Oldest first.
    async fn edges(&self, scope: &Scope, filter: EdgeFilter, slice: Slice<EdgeId>) -> Result<Vec<Edge>, StoreError>;
    async fn edge(&self, scope: &Scope, id: EdgeId) -> Result<Option<Edge>, StoreError>;
    /// Terms split on non-alphanumerics, lower-cased, all required, the last one a prefix. The platform's own documents are
    /// left out, unless their type is asked for.
    async fn search(&self, scope: &Scope, query: &str, filter: SearchFilter) -> Result<Vec<Hit>, StoreError>;

    /// By id or handle.
    async fn actor(&self, name: &str) -> Result<Option<ActorRecord>, StoreError>;
    /// A subagent, by id or handle.
    async fn agent(&self, name: &str) -> Result<Option<AgentRecord>, StoreError>;
    /// The newest version; nothing where nothing was ever written.
    async fn scratchpad(&self, agent: ActorId) -> Result<Option<ScratchpadVersion>, StoreError>;
    /// How many lessons wait for somebody to settle them.
    async fn pending_lessons(&self, agent: ActorId) -> Result<u64, StoreError>;
    /// The stored texts of a request, in the order asked for; one that is missing is `Unusable`.
    async fn blobs(&self, hashes: &[Hash]) -> Result<Vec<String>, StoreError>;
    /// Whether the scope may steer the run: its owner, and whoever is at least editor in all of its projects.
    async fn may_steer(&self, scope: &Scope, run: RunId) -> Result<bool, StoreError>;
    /// Whether the scope may write to the project: whoever is at least editor there.
    async fn may_write(&self, scope: &Scope, project: ProjectId) -> Result<bool, StoreError>;
    /// Whether a project may have another document or task. Those that are just being written are not counted.
    async fn has_room(&self, project: ProjectId) -> Result<bool, StoreError>;
}

/// How many documents and tasks a project has at most, unless the configuration says otherwise.
pub const DEFAULT_ITEMS_PER_PROJECT: u64 = 100_000;

/// The person who owns everything on a fresh machine.
pub const LOCAL_HANDLE: &str = "local";

pub fn local_person(now: Timestamp, id: ActorId) -> ActorRecord {
    ActorRecord { id, kind: ActorKind::Person, handle: LOCAL_HANDLE.into(), name: "Local user".into(), created_at: now }
}
