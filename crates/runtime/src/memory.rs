//! The store in memory: what the loop's own tests and the simulation run on, and the plainest statement
//! of what the SQL stores must do. Holds everything behind one lock; nothing outlives the process.

mod agents;
mod keys;
mod lessons;
mod library;
mod members;
mod removal;
pub mod terms;
pub mod workspace;

use crate::agents::{AgentRecord, PadVersion};
use crate::ports::{Append, AppendError, Claimed, Clock, Lease, Log, StoreError, local_person};
use async_trait::async_trait;
use engine::batch::{ArtifactRow, IterationRow, NodeRow, NotificationRow, PlanRow, Rows, RunRow, StepRow};
use engine::blob::Hash;
use engine::event::{Event, StoredEvent};
use engine::ids::{self, ActorId, ArtifactId, DocumentId, InvitationId, NodeId, PlanId, ProjectId, RunId};
use engine::role::Role;
use engine::run::{Kind, Status};
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Change, Document, Entry};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use workspace::{Conflict, Kept, Revision, Touched, Workspace};

/// How long a run that was claimed as it was created is held before it must be renewed.
pub const FIRST_LEASE: Duration = Duration::from_secs(10);

/// Runs that changed lately, as many as anybody looks at.
pub const MOST_CHANGED: usize = 1_000;

/// Lists that ask for no particular length.
pub fn page(limit: usize) -> usize {
    if limit == 0 { 100 } else { limit }
}

/// Where an entry stands in its document: by the event that made it, so that a rebuild puts it there again.
pub fn entry_position(seq: u64, index: usize) -> i64 {
    (seq as i64).saturating_mul(1000).saturating_add(index as i64)
}

/// Entries made by the same event are numbered in the order they were made.
pub fn entry_positions(rows: &Rows) -> Vec<i64> {
    let mut made: HashMap<(RunId, u64), usize> = HashMap::new();
    let position = |entry: &engine::batch::EntryRow| {
        let index = made.entry((entry.run_id, entry.seq)).or_default();
        *index += 1;
        entry_position(entry.seq, *index - 1)
    };
    rows.entries.iter().map(position).collect()
}

pub struct Memory {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    runs: BTreeMap<RunId, Stored>,
    blobs: HashMap<Hash, String>,
    notifications: BTreeMap<(RunId, u64), NotificationRow>,
    entries: BTreeMap<DocumentId, BTreeMap<String, Entry>>,
    workspace: Workspace,
    superseded: BTreeMap<DocumentId, Vec<Kept<Document>>>,
    members: BTreeMap<(ProjectId, ActorId), Role>,
    creators: BTreeMap<ProjectId, ActorId>,
    invitations: BTreeMap<InvitationId, members::Invited>,
    actors: BTreeMap<ActorId, ActorRecord>,
    agents: BTreeMap<ActorId, AgentRecord>,
    /// Oldest first.
    pads: BTreeMap<ActorId, Vec<PadVersion>>,
    ring: keys::Ring,
    checkpoints: BTreeMap<(RunId, i64, u64), String>,
}

struct Stored {
    row: RunRow,
    events: Vec<StoredEvent>,
    iterations: BTreeMap<u32, IterationRow>,
    /// By ordinal.
    nodes: BTreeMap<u32, NodeRow>,
    plans: BTreeMap<(Timestamp, PlanId), PlanRow>,
    artifacts: BTreeMap<(Timestamp, ArtifactId), ArtifactRow>,
    steps: BTreeMap<u32, StepRow>,
    job: Job,
}

#[derive(Clone, Debug)]
struct Job {
    due: Timestamp,
    /// While the run waits for people: when it is due all the same.
    wake_at: Option<Timestamp>,
    unit: u32,
    owner: Option<String>,
    until: Timestamp,
    epoch: i64,
    attempts: u32,
    last_seen: Option<Timestamp>,
}

impl Memory {
    pub fn new(clock: Arc<dyn Clock>) -> Memory {
        let now = clock.now();
        let local = local_person(now, ids::derive(now, &[b"local"]).into());
        let state = State { actors: BTreeMap::from([(local.id, local)]), ..State::default() };
        Memory { clock, state: Mutex::new(state), news: Notify::new() }
    }

    /// A panic elsewhere never leaves half a change here: every change is prepared before it is written.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the run's present iteration was begun.
    pub fn attempts(&self, run: RunId) -> u32 {
        self.state().runs.get(&run).map_or(0, |stored| stored.job.attempts)
    }

    /// As if every other process had died: what they held may be claimed at once.
    pub fn lapse_all(&self) {
        for stored in self.state().runs.values_mut() {
            stored.job.owner = None;
        }
    }
}

impl Stored {
    fn last_seq(&self) -> u64 {
        self.events.len() as u64
    }

    fn holds(&self, lease: &Lease) -> bool {
        self.job.epoch == lease.epoch && self.job.owner.as_deref() == Some(lease.worker.as_str())
    }

    fn is_held(&self, now: Timestamp) -> bool {
        self.job.owner.is_some() && self.job.until > now
    }

    /// The subagent that is busy with this.
    fn occupies(&self, now: Timestamp, driving: &[RunId]) -> Option<ActorId> {
        self.row.agent_id.filter(|_| self.is_held(now) || driving.contains(&self.row.id))
    }

    fn is_free(&self, now: Timestamp) -> bool {
        let due = self.row.status.is_live() || self.job.wake_at.is_some_and(|at| at <= now);
        due && (self.job.owner.is_none() || self.job.until <= now)
    }
}

impl State {
    /// The fence and the end of the log.
    fn check(&self, append: &Append) -> Result<(), AppendError> {
        let run_id = append.batch.run_id;
        let stored = self.runs.get(&run_id);
        if let Some(lease) = &append.fence
            && !stored.is_some_and(|stored| stored.holds(lease))
        {
            return Err(AppendError::LeaseLost(run_id));
        }
        let last_seq = stored.map_or(0, Stored::last_seq);
        if last_seq == append.batch.expected_seq { Ok(()) } else { Err(AppendError::Moved { run_id, last_seq }) }
    }

    fn revise(
        &self,
        changes: &[Change],
        run: Option<RunId>,
        at: impl Fn(u64) -> Timestamp,
    ) -> Result<(Workspace, Vec<Revision>), Conflict> {
        let mut seen = self.seen(&Touched::by(changes));
        let mut revisions = Vec::new();
        for change in changes {
            revisions.extend(seen.apply(change, run, at(change.seq))?);
        }
        Ok((seen, revisions))
    }

    fn seen(&self, touched: &Touched) -> Workspace {
        fn pick<K: Ord + Copy, T: Clone>(all: &BTreeMap<K, T>, keys: &BTreeSet<K>) -> BTreeMap<K, T> {
            keys.iter().filter_map(|key| all.get(key).map(|value| (*key, value.clone()))).collect()
        }
        Workspace {
            projects: pick(&self.workspace.projects, &touched.projects),
            documents: pick(&self.workspace.documents, &touched.documents),
            tasks: pick(&self.workspace.tasks, &touched.tasks),
            edges: pick(&self.workspace.edges, &touched.edges),
            pads: touched
                .pads
                .iter()
                .filter_map(|agent| Some((*agent, self.pads.get(agent)?.last()?.clone())))
                .collect(),
            lessons: pick(&self.workspace.lessons, &touched.lessons),
        }
    }

    fn write(&mut self, (seen, revisions): (Workspace, Vec<Revision>)) {
        for revision in revisions {
            match revision {
                Revision::ProjectMade(project, owner) => {
                    self.members.insert((project.entity.id, owner), Role::Owner);
                    self.creators.insert(project.entity.id, owner);
                }
                Revision::DocumentChanged { from, .. } => {
                    self.superseded.entry(from.entity.id).or_default().push(*from)
                }
                Revision::ScratchpadWritten(agent, pad) | Revision::LessonsPromoted { agent, pad, .. } => {
                    self.pads.entry(agent).or_default().push(pad)
                }
                Revision::Unlinked(id) => drop(self.workspace.edges.remove(&id)),
                _ => {}
            }
        }
        self.workspace.projects.extend(seen.projects);
        self.workspace.documents.extend(seen.documents);
        self.workspace.tasks.extend(seen.tasks);
        self.workspace.edges.extend(seen.edges);
        self.workspace.lessons.extend(seen.lessons);
    }

    fn project(&mut self, rows: Rows) {
        for (position, row) in entry_positions(&rows).into_iter().zip(rows.entries) {
            let entry = Entry {
                document_id: row.document_id,
                position,
                key: row.key.clone(),
                markdown: row.markdown,
                run_id: Some(row.run_id),
                seq: Some(row.seq),
                created_at: row.at,
            };
            self.entries.entry(row.document_id).or_default().entry(row.key).or_insert(entry);
        }
        for notification in rows.notifications {
            self.notifications.entry((notification.run_id, notification.seq)).or_insert(notification);
        }
        let Some(stored) = self.runs.get_mut(&rows.run.id) else { return };
        stored.row = rows.run;
        stored.iterations.extend(rows.iterations.into_iter().map(|row| (row.iteration, row)));
        stored.nodes.extend(rows.nodes.into_iter().map(|row| (row.ordinal, row)));
        stored.plans.extend(rows.plans.into_iter().map(|row| ((row.created_at, row.id), row)));
        stored.artifacts.extend(rows.artifacts.into_iter().map(|row| ((row.created_at, row.id), row)));
        stored.steps.extend(rows.steps.into_iter().map(|row| (row.step, row)));
    }

    fn settle_job(&mut self, append: &Append, now: Timestamp) {
        let live = append.rows.run.status.is_live();
        let unit = append.rows.run.iteration;
        let fresh = || Stored {
            row: append.rows.run.clone(),
            events: Vec::new(),
            iterations: BTreeMap::new(),
            nodes: BTreeMap::new(),
            plans: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            steps: BTreeMap::new(),
            job: first_job(append, now),
        };
        let stored = self.runs.entry(append.batch.run_id).or_insert_with(fresh);
        if live && !stored.row.status.is_live() {
            stored.job.due = now;
        }
        if !live && append.rows.run.status != engine::run::Status::Paused {
            stored.job.owner = None;
        }
        stored.job.wake_at = append.rows.wake_at;
        if stored.job.unit != unit {
            (stored.job.unit, stored.job.attempts) = (unit, 0);
        }
        if append.fence.is_some() {
            stored.job.last_seen = Some(now);
        }
        stored.events.extend(append.batch.events.iter().map(stored_form));
    }
}

fn first_job(append: &Append, now: Timestamp) -> Job {
    let claimed = append.claim_for.is_some();
    Job {
        due: now,
        wake_at: None,
        unit: append.rows.run.iteration,
        owner: append.claim_for.clone(),
        until: now.plus_ms(FIRST_LEASE.as_millis() as i64),
        epoch: i64::from(claimed),
        attempts: u32::from(claimed),
        last_seen: claimed.then_some(now),
    }
}

fn stored_form(event: &Event) -> StoredEvent {
    StoredEvent {
        run_id: event.run_id,
        seq: event.seq,
        node_id: event.node_id,
        parent_node_id: event.parent_node_id,
        kind: event.kind().to_owned(),
        at: event.at,
        actor: event.actor,
        hash: event.hash,
        payload: event.payload.to_string(),
    }
}

/// When the event behind a change happened; the last one of the batch for a change that names none.
pub fn at_of(events: &[Event], seq: u64) -> Option<Timestamp> {
    events.iter().find(|event| event.seq == seq).or(events.last()).map(|event| event.at)
}

#[async_trait]
impl Log for Memory {
    async fn append(&self, append: Append) -> Result<(), AppendError> {
        let now = self.clock.now();
        let mut state = self.state();
        state.check(&append)?;
        let at = |seq| at_of(&append.batch.events, seq).unwrap_or(now);
        let revised = state.revise(&append.batch.changes, Some(append.batch.run_id), at);
        let revised = revised.map_err(|Conflict(id)| AppendError::Conflict(id))?;
        state.write(revised);
        state.blobs.extend(append.batch.blobs.iter().map(|blob| (blob.hash, blob.text.clone())));
        state.settle_job(&append, now);
        let from_outside = append.fence.is_none();
        state.project(append.rows);
        drop(state);
        if from_outside {
            self.news.notify_waiters();
            self.news.notify_one();
        }
        Ok(())
    }

    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let state = self.state();
        let Some(stored) = state.runs.get(&run) else { return Ok(Vec::new()) };
        Ok(stored.events.iter().skip(after as usize).take(limit).cloned().collect())
    }

    async fn blobs(&self, hashes: &[Hash]) -> Result<Vec<String>, StoreError> {
        let state = self.state();
        let find = |hash: &Hash| {
            state.blobs.get(hash).cloned().ok_or_else(|| StoreError::Unusable(format!("the text {hash} is missing")))
        };
        hashes.iter().map(find).collect()
    }

    async fn claim(
        &self,
        worker: &str,
        limit: usize,
        ttl: Duration,
        only: Option<RunId>,
        driving: &[RunId],
    ) -> Result<Vec<Claimed>, StoreError> {
        let now = self.clock.now();
        let mut state = self.state();
        let mut busy: BTreeSet<ActorId> =
            state.runs.values().filter_map(|stored| stored.occupies(now, driving)).collect();
        let mut held: BTreeMap<ActorId, usize> = BTreeMap::new();
        for stored in state.runs.values().filter(|stored| stored.is_held(now)) {
            *held.entry(stored.row.owner).or_default() += 1;
        }
        let wanted = |stored: &&Stored| {
            let id = stored.row.id;
            stored.is_free(now) && only.is_none_or(|only| only == id) && !driving.contains(&id)
        };
        let mut free: Vec<&Stored> = state.runs.values().filter(wanted).collect();
        free.sort_by_key(|stored| (stored.job.due, stored.row.id));
        free.retain(|stored| stored.row.agent_id.is_none_or(|agent| busy.insert(agent)));
        let mut chosen = Vec::new();
        while chosen.len() < limit {
            // The first of whoever has the fewest; of equals the oldest.
            let next = (0..free.len()).min_by_key(|at| (held.get(&free[*at].row.owner).copied().unwrap_or(0), *at));
            let Some(stored) = next.map(|at| free.remove(at)) else { break };
            *held.entry(stored.row.owner).or_default() += 1;
            chosen.push(stored.row.id);
        }
        let take = |id: RunId| {
            let stored = state.runs.get_mut(&id)?;
            let job = &mut stored.job;
            let last_seen = job.last_seen.replace(now);
            (job.owner, job.until) = (Some(worker.to_owned()), now.plus_ms(ttl.as_millis() as i64));
            job.epoch += 1;
            job.attempts += 1;
            let lease = Lease { run_id: id, worker: worker.to_owned(), epoch: job.epoch };
            Some(Claimed { lease, last_seen, at: now })
        };
        Ok(chosen.into_iter().filter_map(take).collect())
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<RunId>, StoreError> {
        let now = self.clock.now();
        let mut state = self.state();
        let mut lost = Vec::new();
        for lease in leases {
            match state.runs.get_mut(&lease.run_id).filter(|stored| stored.holds(lease)) {
                Some(stored) => {
                    stored.job.until = now.plus_ms(ttl.as_millis() as i64);
                    stored.job.last_seen = Some(now);
                }
                None => lost.push(lease.run_id),
            }
        }
        Ok(lost)
    }

    async fn release(&self, leases: &[Lease]) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut state = self.state();
        for lease in leases {
            if let Some(stored) = state.runs.get_mut(&lease.run_id).filter(|stored| stored.holds(lease)) {
                stored.job.owner = None;
                stored.job.last_seen = Some(now);
            }
        }
        drop(state);
        self.news.notify_waiters();
        Ok(())
    }

    async fn heads(&self, worker: &str) -> Result<Vec<(RunId, u64)>, StoreError> {
        let state = self.state();
        let held = state.runs.values().filter(|stored| stored.job.owner.as_deref() == Some(worker));
        Ok(held.map(|stored| (stored.row.id, stored.last_seq())).collect())
    }

    async fn ends(&self, runs: &[RunId]) -> Result<Vec<(RunId, u64)>, StoreError> {
        let state = self.state();
        Ok(runs.iter().filter_map(|run| Some((*run, state.runs.get(run)?.last_seq()))).collect())
    }

    async fn changed_runs(&self, since: Timestamp) -> Result<Vec<(RunId, Timestamp)>, StoreError> {
        let state = self.state();
        let rows = state.runs.values().map(|stored| (stored.row.id, stored.row.updated_at));
        let mut changed: Vec<_> = rows.filter(|(_, at)| *at > since).collect();
        changed.sort_by_key(|(run, at)| std::cmp::Reverse((*at, *run)));
        changed.truncate(MOST_CHANGED);
        Ok(changed)
    }

    async fn census(&self) -> Result<Vec<(Kind, Status, u64)>, StoreError> {
        let mut counts: BTreeMap<(Kind, Status), u64> = BTreeMap::new();
        for stored in self.state().runs.values() {
            *counts.entry((stored.row.kind, stored.row.status)).or_default() += 1;
        }
        Ok(counts.into_iter().map(|((kind, status), count)| (kind, status, count)).collect())
    }

    async fn run_of_node(&self, node: NodeId) -> Result<Option<RunId>, StoreError> {
        let state = self.state();
        let has = |stored: &&Stored| stored.events.iter().any(|event| event.node_id == Some(node));
        Ok(state.runs.values().find(has).map(|stored| stored.row.id))
    }

    async fn checkpoint(&self, run: RunId, seq: u64, format: i64) -> Result<Option<String>, StoreError> {
        let state = self.state();
        let kept = state.checkpoints.range((run, format, 0)..=(run, format, seq)).next_back();
        Ok(kept.map(|(_, text)| text.clone()))
    }

    async fn keep_checkpoint(&self, run: RunId, seq: u64, format: i64, text: String) -> Result<(), StoreError> {
        self.state().checkpoints.insert((run, format, seq), text);
        Ok(())
    }

    async fn wakeup(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.news.notified()).await;
    }
}
