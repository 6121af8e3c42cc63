//! Records every call between a process and its store: what was committed when and by which lease, who held which lease,
//! and which replies people got. An independent oracle for the checks: it shares no state with the product.

use crate::clock::VirtualClock;
use engine::batch::{ArtifactRow, NodeRow, PlanRow, Rows, RunRow};
use engine::ids::{ArtifactId, NodeId, PlanId, ProjectId, RunId};
use engine::run::{NodeCommand, Status};
use engine::workspace::{Change, Mutation};
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
    pub what: Action,
    pub reply: Reply,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Say(String),
    Answer(String),
    Pause,
    Resume,
    Cancel,
    Continue(String),
    SetBudgets,
    Node(NodeCommand, NodeId),
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
    pub deaths: u32,
    pub stalls: u32,
    /// Process stops that took too long, leases taken too early, batches committed twice.
    pub violations: Vec<String>,
    pub lines: Vec<String>,
    hash: u64,
}

pub struct Witness {
    clock: Arc<VirtualClock>,
    keep_lines: bool,
    record: Mutex<Record>,
}

impl Witness {
    pub fn new(clock: Arc<VirtualClock>, keep_lines: bool) -> Witness {
        Witness { clock, keep_lines, record: Mutex::default() }
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
        let line = format!("{:>9} {what}", self.now_ms());
        let mut record = self.record();
        record.hash = line.bytes().fold(record.hash ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        if self.keep_lines {
            record.lines.push(line);
        }
    }

    pub fn violation(&self, what: String) {
        self.note(format_args!("WRONG {what}"));
        self.record().violations.push(what);
    }

    pub fn committed(&self, process: &str, asked_ms: u64, append: &Append) {
        let now = self.now_ms();
        let kinds: Vec<String> =
            append.batch.events.iter().map(|event| format!("{}:{}", event.seq, event.kind())).collect();
        self.note(format_args!(
            "{process} commits {} {} {}",
            append.batch.run_id,
            kinds.join(" "),
            append.rows.run.head
        ));
        if let Some(lease) = &append.fence {
            self.check_fence(lease, now);
        }
        self.changed(&append.batch.changes);
        let mut record = self.record();
        let run = append.batch.run_id;
        let status = append.rows.run.status;
        if !status.is_live()
            && status != Status::Paused
            && let Some(hold) = record.holds.get_mut(&run).and_then(|holds| holds.last_mut())
        {
            (hold.over, hold.until_ms) = (true, hold.until_ms.min(now));
        }
        record.trees.entry(run).or_default().add(&append.rows);
        record.commits.push(Commit {
            at_ms: now,
            asked_ms,
            run,
            fence: append.fence.clone(),
            first_seq: append.batch.expected_seq + 1,
            row: append.rows.run.clone(),
            changes: append.batch.changes.clone(),
        });
    }

    /// Checks that every update names the newest version, so that no edit is lost, and that nothing is created twice.
    pub fn changed(&self, changes: &[Change]) {
        let mut violations = Vec::new();
        {
            let mut record = self.record();
            for change in changes {
                let (id, made, expected) = versioned(&change.mutation);
                let known = record.versions.get(&id).copied().unwrap_or(0);
                if made && known > 0 {
                    violations.push(format!("exactly once: {id} was made twice"));
                }
                if expected.is_some_and(|expected| expected != known) {
                    violations
                        .push(format!("compare and swap: {id} is at version {known}, changed as if at {expected:?}"));
                }
                record.versions.insert(id, known + 1);
            }
        }
        violations.into_iter().for_each(|violation| self.violation(violation));
    }

    /// Invariant 21: only the holder of the newest epoch commits.
    fn check_fence(&self, lease: &Lease, now: u64) {
        let held = {
            let mut record = self.record();
            let hold = record.holds.get_mut(&lease.run_id).and_then(|holds| holds.last_mut());
            hold.is_some_and(|hold| {
                (hold.seen_ms, hold.committed) = (now, true);
                hold.epoch == lease.epoch && hold.worker == lease.worker && !hold.over
            })
        };
        if !held {
            self.violation(format!(
                "21: {} committed to {} with stale epoch {}",
                lease.worker, lease.run_id, lease.epoch
            ));
        }
    }

    /// Invariants 22 and 25: epochs grow, and a lease is not granted before the last one expired.
    pub fn claimed(&self, claimed: &Claimed, ttl: Duration) {
        let now = self.now_ms();
        let Lease { run_id, worker, epoch } = claimed.lease.clone();
        self.note(format_args!("{worker} claims {run_id} as {epoch}"));
        let violation = {
            let mut record = self.record();
            let holds = record.holds.entry(run_id).or_default();
            let violation = holds.last().and_then(|last| {
                if epoch <= last.epoch {
                    Some(format!("22: epoch of {run_id} went from {} to {epoch}", last.epoch))
                } else if !last.over && last.until_ms > now {
                    Some(format!(
                        "25: {worker} was given {run_id} at {now} though {} holds it until {}",
                        last.worker, last.until_ms
                    ))
                } else {
                    None
                }
            });
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
            violation
        };
        violation.into_iter().for_each(|violation| self.violation(violation));
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

    pub fn acted(&self, run: RunId, what: Action, reply: Reply) {
        let at_ms = self.now_ms();
        self.note(format_args!("person: {what:?} to {run}: {reply:?}"));
        self.record().acts.push(Act { at_ms, run, what, reply });
    }
}

impl Record {
    fn hold(&mut self, lease: &Lease) -> Option<&mut Hold> {
        let hold = self.holds.get_mut(&lease.run_id)?.last_mut()?;
        (hold.epoch == lease.epoch && hold.worker == lease.worker && !hold.over).then_some(hold)
    }

    /// When the log of a run reached this seq.
    pub fn committed_at(&self, run: RunId, seq: u64) -> Option<u64> {
        let mut commits = self.commits.iter().filter(|commit| commit.run == run);
        commits.find(|commit| commit.first_seq <= seq && seq <= commit.row.last_seq).map(|commit| commit.at_ms)
    }
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
