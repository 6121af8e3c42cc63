//! The state of a homework run: references and short texts only, bounded in everything but ids and branches. Stored in view
//! checkpoints: a change of field names or meaning needs a new `view::CHECKPOINT_FORMAT`.

use super::plan::Plan;
use crate::blob::{BlobRef, Hash};
use crate::calls::{RecordedCall, RejectedAnswer};
use crate::effect::EffectId;
use crate::facts::homework::{ExecutorTask, Planned, Progress, Verdict, VerifiedEvidence};
use crate::ids::{self, DocumentId, MessageId};
use crate::lessons::LessonRef;
use crate::metrics::Metrics;
use crate::run::Shared;
use crate::time::Timestamp;
use crate::workspace::Artifacts;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use uuid::Uuid;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// The run's part of every effect id.
    pub tag: String,
    pub iteration: u32,
    pub phase: Phase,
    pub workspace: Option<Workspace>,
    pub plan: Plan,
    pub current: CurrentIteration,
    pub last: Option<LastIteration>,
    /// The newest three entries of the main scratchpad.
    pub entries: VecDeque<String>,
    /// One line for each of the newest older iterations.
    pub history: VecDeque<String>,
    /// Iterations whose line was dropped from `history`.
    pub dropped_history: u32,
    pub branches: Vec<Branch>,
    /// Fingerprints of what tools have shown and changed: having it again is no progress.
    pub known: HashSet<Hash>,
    /// Newest last, at most fifty; shown to the planner.
    pub made: VecDeque<CitableEntity>,
    /// Everything this run created or changed: what evidence may cite.
    pub changed_entities: HashSet<Uuid>,
    /// The newest of what this run created or changed, for the report; `left_out` counts the older ones.
    pub totals: Artifacts,
    pub left_out: usize,
    /// Successful tool results by seq: what evidence may cite.
    pub successful_results: BTreeMap<u64, CitableResult>,
    pub evidence: BTreeMap<String, VerifiedEvidence>,
    /// Steps that left the plan before they were done, and are not back.
    pub dropped: Vec<DroppedStep>,
    /// Work of executors that failed and that nothing has made good since, by the step or the branch it was.
    pub failed_branches: BTreeMap<String, FailedBranch>,
    /// Tools whose last call failed.
    #[serde(default)]
    pub failed_tools: BTreeMap<String, FailedTool>,
    /// The iterations in which a replan was forced.
    #[serde(default)]
    pub replans: Vec<u32>,
    /// Criteria that a check has verified once: doing so again is no progress.
    pub verified_criteria: BTreeSet<String>,
    /// Steps that were done when an iteration ended: their end counts as progress no more.
    pub counted_steps: HashSet<String>,
    /// Steps that a successful executor worked on with successful calls.
    pub worked_steps: HashSet<String>,
    /// Successful results that brought something new and belong to no step; each may stand behind one.
    pub unclaimed_work: u32,
    pub repeats: u32,
    /// The action set that repeated without progress: not carried out again until something moves.
    pub barred: Option<Vec<String>>,
    pub refused_exit: Vec<String>,
    pub hint: bool,
    /// What the planner said when it gave up, in the last iteration it answered in: it is asked once more.
    pub gave_up: Option<String>,
    /// What people said and answered since the last scratchpad entry.
    pub heard: VecDeque<String>,
    /// What came of the newest iterations, for the summary document.
    pub digests: VecDeque<IterationDigest>,
    /// What the closed iterations used, all together.
    pub in_iterations: Metrics,
    /// Messages that executors were shown and the planner was not.
    #[serde(default)]
    pub unread_by_planner: BTreeSet<MessageId>,
    /// The beginnings of the newest texts this run wrote, for the report.
    #[serde(default)]
    pub written: VecDeque<DocumentExcerpt>,
    /// Lessons that subagents left.
    #[serde(default)]
    pub lessons: Vec<LessonRef>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    #[default]
    NotStarted,
    /// Within an iteration; `CurrentIteration` says how far.
    Iterating,
    /// The iteration is closed, and the run waits for answers.
    Waiting,
    /// The run is about to stop; one last call writes the report's prose.
    Reporting,
    Ended,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Workspace {
    pub document: DocumentId,
    pub scratchpad: DocumentId,
    pub plan: DocumentId,
}

/// The iteration in progress.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CurrentIteration {
    pub started_at: Timestamp,
    pub metrics_before: Metrics,
    pub plan_before: Plan,
    pub planned: Option<Planned>,
    /// The planner's own calls, then their corrections.
    pub calls: Vec<RecordedCall>,
    pub repaired: bool,
    pub executors: Vec<Executor>,
    /// Tasks that were not carried out, for the next request to know.
    pub not_run: Vec<TaskNotRun>,
    /// Answers that did not fit their schema.
    pub rejected: BTreeMap<EffectId, RejectedAnswer>,
    pub artifacts: Artifacts,
    /// Those of them that are progress: not a change back to what there was.
    pub advances: Artifacts,
    pub new_readings: u32,
    /// The actions that were barred in this iteration.
    pub replan_forced: Vec<String>,
    pub verdict: Option<Verdict>,
    /// The verifier was asked about the exit of this iteration.
    #[serde(default)]
    pub check_started: bool,
    /// Criteria that it verified and that were not before.
    #[serde(default)]
    pub newly_verified: u32,
}

/// A successful result of a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CitableResult {
    pub tool: String,
    pub content: BlobRef,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedStep {
    pub id: String,
    pub title: String,
    pub iteration: u32,
    /// The plan that dropped it had new steps.
    pub replaced: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedBranch {
    pub branch_id: String,
    pub iteration: u32,
    pub step_id: Option<String>,
    pub title: String,
    pub error: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTool {
    pub iteration: u32,
    pub error: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Executor {
    pub task: ExecutorTask,
    pub pad: DocumentId,
    /// The current round, from 1.
    pub round: u32,
    /// Rounds answered so far.
    pub answered: u32,
    pub thoughts: Vec<String>,
    pub calls: Vec<RecordedCall>,
    pub said_done: bool,
    pub summary: Option<String>,
    pub snippet: Option<String>,
    pub completed_step_ids: Vec<String>,
    /// What its calls made.
    pub artifacts: Artifacts,
    pub finished: Option<ExecutorOutcome>,
    /// An error that lists tools its task names that do not exist, and those that do.
    #[serde(default)]
    pub refused_tools: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskNotRun {
    pub branch_id: String,
    pub title: String,
    #[serde(default)]
    pub why: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExecutorOutcome {
    pub ok: bool,
    pub summary: String,
    pub snippet: String,
    pub error: Option<String>,
}

/// What the next planner call is shown of the iteration before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LastIteration {
    pub iteration: u32,
    pub summary: String,
    pub progress: Progress,
    pub artifacts: Artifacts,
    pub calls: Vec<RecordedCall>,
    pub executors: Vec<Executor>,
    pub not_run: Vec<TaskNotRun>,
    pub remaining_work: Vec<String>,
    pub actions: Vec<String>,
    pub lost: Option<String>,
    /// The iteration the results come from, when the last one had none of its own.
    #[serde(default)]
    pub results_of: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Branch {
    pub id: String,
    pub document: DocumentId,
    pub title: String,
    /// The step of its newest task.
    pub step_id: Option<String>,
    /// The newest two entries.
    pub tail: VecDeque<String>,
    /// How its newest executor ended, on one line.
    pub last_outcome: Option<LastOutcome>,
    /// The newest documents and tasks its executors made or changed.
    pub made: VecDeque<CitableEntity>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LastOutcome {
    pub iteration: u32,
    pub ok: bool,
    pub said: String,
}

/// What came of one iteration, one line each.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IterationDigest {
    pub iteration: u32,
    pub progress: Progress,
    pub made: Vec<String>,
    pub found: Vec<String>,
    pub failed: Vec<String>,
    pub plan: Vec<String>,
    pub learned: Vec<String>,
}

/// A document or task of this run, as the planner cites it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitableEntity {
    #[serde(rename = "ref")]
    pub reference: String,
    pub title: String,
}

impl Executor {
    /// Whether a call of the current round failed, so that what the answer claims about it is wrong.
    pub(super) fn failed_in_round(&self, in_round: impl Fn(&EffectId) -> bool) -> bool {
        let failed = |call: &&RecordedCall| call.result.as_ref().is_some_and(|result| !result.ok);
        self.calls.iter().filter(failed).any(|call| in_round(&call.id))
    }
}

/// The beginning of a text this run wrote, shown to the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentExcerpt {
    #[serde(rename = "ref")]
    pub reference: String,
    pub title: String,
    pub text: String,
}

/// The workspace document of a run that has not started: derived from the run alone, so that it is known from the beginning.
pub(super) fn new_workspace(shared: &Shared) -> DocumentId {
    ids::derive(shared.created_at, &[shared.id.0.as_bytes(), b"workspace"]).into()
}

impl State {
    /// None of a run that ended before it started.
    pub(crate) fn workspace_document(&self, shared: &Shared) -> Option<DocumentId> {
        match self.workspace {
            Some(workspace) => Some(workspace.document),
            None if shared.status().is_terminal() => None,
            None => Some(new_workspace(shared)),
        }
    }

    /// Whether the last iteration is closed, so that a run that goes on begins another.
    pub(crate) fn begins_iteration(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Ended | Phase::Reporting)
    }

    pub fn branch(&self, id: &str) -> Option<&Branch> {
        self.branches.iter().find(|branch| branch.id == id)
    }
}
