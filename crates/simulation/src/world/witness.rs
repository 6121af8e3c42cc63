//! Records every call between a process and its store: what was committed when and by which lease, who held which lease,
//! and which replies people got. An independent oracle for the checks: it shares no state with the product.

use crate::clock::VirtualClock;
use engine::batch::{ArtifactRow, NodeRow, PlanRow, Rows, RunRow};
use engine::ids::{ArtifactId, NodeId, PlanId, ProjectId, RunId};
use engine::run::{Command, Status};
use engine::workspace::{Change, Mutation, TaskState};
use runtime::ports::{Append, Claimed, Lease};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use uuid::Uuid;

/// One append that the store accepted.
#[derive(Clone, Debug)]
pub struct Commit {
    pub at_ms: u64,
    /// When the process asked for it; a stall may lie in between.
    pub asked_ms: u64,
    pub run: RunId,
    pub fence: Option<Lease>,
    pub first_seq: u64,
    pub row: RunRow,
    pub changes: Vec<Change>,
}

/// A command a person sent, and the reply.
#[derive(Clone, Debug)]
pub struct Act {
    pub at_ms: u64,
    pub run: RunId,
    pub command: Command,
    pub reply: Reply,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Done,
    Refused(String),
    /// The process died or the store failed: it may have happened or not.
    Nothing,
}

/// The time a worker held one lease.
#[derive(Clone, Debug)]
pub struct Hold {
    pub worker: String,
    pub epoch: i64,
    pub from_ms: u64,
    pub until_ms: u64,
    /// Last time the holder renewed, committed or gave back.
    pub seen_ms: u64,
    pub committed: bool,
    pub over: bool,
}

/// What of a document or a task can be quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntityText {
    Document(String),
    Task { title: String, state: TaskState, description: String },
}

/// A tree's projection rows as they were last written to the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeRows {
    nodes: BTreeMap<NodeId, NodeRow>,
    plans: BTreeMap<PlanId, PlanRow>,
    artifacts: BTreeMap<ArtifactId, ArtifactRow>,
}

impl TreeRows {
    pub fn after(rows: &Rows) -> TreeRows {
        let mut tree = TreeRows::default();
        tree.add(rows);
        tree
    }

    fn add(&mut self, rows: &Rows) {
        self.nodes.extend(rows.nodes.iter().map(|row| (row.id, row.clone())));
        self.plans.extend(rows.plans.iter().map(|row| (row.id, row.clone())));
        self.artifacts.extend(rows.artifacts.iter().map(|row| (row.id, row.clone())));
    }
}

#[derive(Default)]
pub struct Record {
    pub commits: Vec<Commit>,
    pub trees: BTreeMap<RunId, TreeRows>,
    pub holds: BTreeMap<RunId, Vec<Hold>>,
    pub acts: Vec<Act>,
    pub revoked: Vec<(u64, ProjectId)>,
    /// Every entity's version, counted here.
    versions: BTreeMap<Uuid, i64>,
    /// Every text that a document or task ever had, by its version.
    texts: BTreeMap<(Uuid, i64), EntityText>,
    pub deaths: u32,
    pub stalls: u32,
    /// Process stops that took too long, leases taken too early, batches committed twice.
    pub violations: Vec<String>,
    pub lines: Vec<String>,
    keep_lines: bool,
    hash: u64,
}

pub struct Witness {
    clock: Arc<VirtualClock>,
    record: Mutex<Record>,
}

impl Witness {
    pub fn new(clock: Arc<VirtualClock>, keep_lines: bool) -> Witness {
        Witness { clock, record: Mutex::new(Record { keep_lines, ..Record::default() }) }
    }

    pub fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now_ms(&self) -> u64 {
        self.clock.elapsed_ms()
    }

    /// Equal worlds leave equal traces.
    pub fn trace_hash(&self) -> u64 {
        self.record().hash
    }

    pub fn note(&self, what: std::fmt::Arguments<'_>) {
        self.record().note(self.now_ms(), what);
    }

    pub fn violation(&self, what: String) {
        self.record().violation(self.now_ms(), what);
    }

    pub fn committed(&self, process: &str, asked_ms: u64, append: &Append) {
        let (now, mut record) = (self.now_ms(), self.record());
        let (run, row) = (append.batch.run_id, &append.rows.run);
        let kinds: Vec<String> =
            append.batch.events.iter().map(|event| format!("{}:{}", event.seq, event.kind())).collect();
        record.note(now, format_args!("{process} commits {run} {} {}", kinds.join(" "), row.head));
        if let Some(lease) = &append.fence {
            record.check_fence(lease, now);
        }
        record.change(&append.batch.changes, now);
        let at_rest = !row.status.is_live() && row.status != Status::Paused && !append.rows.checking;
        if at_rest && let Some(hold) = record.holds.get_mut(&run).and_then(|holds| holds.last_mut()) {
            (hold.over, hold.until_ms) = (true, hold.until_ms.min(now));
        }
        record.trees.entry(run).or_default().add(&append.rows);
        record.commits.push(Commit {
            at_ms: now,
            asked_ms,
            run,
            fence: append.fence.clone(),
            first_seq: append.batch.expected_seq + 1,
            row: row.clone(),
            changes: append.batch.changes.clone(),
        });
    }

    /// Changes that no run made.
    pub fn changed(&self, changes: &[Change]) {
        self.record().change(changes, self.now_ms());
    }

    /// Invariants 22 and 25: epochs grow, and a lease is not granted before the last one expired.
    pub fn claimed(&self, claimed: &Claimed, ttl: Duration) {
        let (now, mut record) = (self.now_ms(), self.record());
        let Lease { run_id, worker, epoch } = claimed.lease.clone();
        record.note(now, format_args!("{worker} claims {run_id} as {epoch}"));
        if let Some(last) = record.holds.get(&run_id).and_then(|holds| holds.last()).cloned() {
            if epoch <= last.epoch {
                record.violation(now, format!("22: epoch of {run_id} went from {} to {epoch}", last.epoch));
            } else if !last.over && last.until_ms > now {
                let (holder, until) = (last.worker, last.until_ms);
                record.violation(now, format!("25: {worker} was given {run_id}, which {holder} holds until {until}"));
            }
        }
        let holds = record.holds.entry(run_id).or_default();
        if let Some(last) = holds.last_mut() {
            last.until_ms = last.until_ms.min(now);
        }
        holds.push(Hold {
            worker,
            epoch,
            from_ms: now,
            until_ms: now + ttl.as_millis() as u64,
            seen_ms: now,
            committed: false,
            over: false,
        });
    }

    pub fn renewed(&self, leases: &[Lease], lost: &[RunId], ttl: Duration) {
        let now = self.now_ms();
        let mut record = self.record();
        for lease in leases.iter().filter(|lease| !lost.contains(&lease.run_id)) {
            if let Some(hold) = record.hold(lease) {
                (hold.seen_ms, hold.until_ms) = (now, now + ttl.as_millis() as u64);
            }
        }
    }

    pub fn released(&self, leases: &[Lease]) {
        let now = self.now_ms();
        let mut record = self.record();
        for lease in leases {
            if let Some(hold) = record.hold(lease) {
                (hold.seen_ms, hold.until_ms, hold.over) = (now, hold.until_ms.min(now), true);
            }
        }
    }

    pub fn acted(&self, run: RunId, command: Command, reply: Reply) {
        let (at_ms, mut record) = (self.now_ms(), self.record());
        record.note(at_ms, format_args!("person: {command:?} to {run}: {reply:?}"));
        record.acts.push(Act { at_ms, run, command, reply });
    }
}

impl Record {
    fn note(&mut self, now_ms: u64, what: std::fmt::Arguments<'_>) {
        let line = format!("{now_ms:>9} {what}");
        self.hash = line.bytes().fold(self.hash ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        if self.keep_lines {
            self.lines.push(line);
        }
    }

    fn violation(&mut self, now_ms: u64, what: String) {
        self.note(now_ms, format_args!("WRONG {what}"));
        self.violations.push(what);
    }

    /// Checks that every update names the newest version, so that no edit is lost, and that nothing is created twice.
    fn change(&mut self, changes: &[Change], now: u64) {
        for change in changes {
            let (id, made, expected) = versioned(&change.mutation);
            let known = self.versions.get(&id).copied().unwrap_or(0);
            if made && known > 0 {
                self.violation(now, format!("exactly once: {id} was made twice"));
            }
            if let Some(expected) = expected.filter(|expected| *expected != known) {
                self.violation(now, format!("compare and swap: {id} is at {known}, changed as if at {expected}"));
            }
            self.versions.insert(id, known + 1);
            let before = self.texts.get(&(id, known));
            if let Some(text) = text_after(&change.mutation, before) {
                self.texts.insert((id, known + 1), text);
            }
        }
    }

    /// The text of a document or task as it was in this version.
    pub fn text(&self, entity: Uuid, version: i64) -> Option<&EntityText> {
        self.texts.get(&(entity, version))
    }

    /// Invariant 21: only the holder of the newest epoch commits.
    fn check_fence(&mut self, lease: &Lease, now: u64) {
        let Lease { run_id, worker, epoch } = lease;
        let hold = self.holds.get_mut(run_id).and_then(|holds| holds.last_mut());
        let held = hold.is_some_and(|hold| {
            (hold.seen_ms, hold.committed) = (now, true);
            hold.epoch == *epoch && hold.worker == *worker && !hold.over
        });
        if !held {
            self.violation(now, format!("21: {worker} committed to {run_id} with stale epoch {epoch}"));
        }
    }

    fn hold(&mut self, lease: &Lease) -> Option<&mut Hold> {
        let hold = self.holds.get_mut(&lease.run_id)?.last_mut()?;
        (hold.epoch == lease.epoch && hold.worker == lease.worker && !hold.over).then_some(hold)
    }
}

fn text_after(mutation: &Mutation, before: Option<&EntityText>) -> Option<EntityText> {
    Some(match (mutation, before) {
        (Mutation::CreateDocument { content, .. }, _) => EntityText::Document(content.clone()),
        (Mutation::UpdateDocument { content, .. }, Some(EntityText::Document(before))) => {
            EntityText::Document(content.as_ref().unwrap_or(before).clone())
        }
        (Mutation::CreateTask { title, state, description, .. }, _) => {
            EntityText::Task { title: title.clone(), state: *state, description: description.clone() }
        }
        (
            Mutation::UpdateTask { title, state, description, .. },
            Some(EntityText::Task { title: t, state: s, description: d }),
        ) => EntityText::Task {
            title: title.as_ref().unwrap_or(t).clone(),
            state: state.unwrap_or(*s),
            description: description.as_ref().unwrap_or(d).clone(),
        },
        _ => return None,
    })
}

/// The entity, whether it is new, and the version its changer claims to have seen.
fn versioned(mutation: &Mutation) -> (Uuid, bool, Option<i64>) {
    match mutation {
        Mutation::CreateProject { id, .. } => (id.0, true, None),
        Mutation::CreateDocument { id, .. } => (id.0, true, None),
        Mutation::CreateTask { id, .. } => (id.0, true, None),
        Mutation::Link { id, .. } => (id.0, true, None),
        Mutation::UpdateProject { id, expected_version, .. } => (id.0, false, Some(*expected_version)),
        Mutation::UpdateDocument { id, expected_version, .. } => (id.0, false, *expected_version),
        Mutation::UpdateTask { id, expected_version, .. } => (id.0, false, Some(*expected_version)),
        Mutation::WriteScratchpad { agent, based_on, .. } => (agent.0, false, Some(*based_on)),
        Mutation::Unlink { id } => (id.0, false, None),
        Mutation::AddLesson { id, .. } => (id.0, true, None),
        Mutation::PromoteLessons { agent, .. } => (agent.0, false, None),
        Mutation::DismissLesson { id } => (id.0, false, None),
    }
}
