//! Facts of a homework run: one iteration at a time.

use super::facts;
use crate::blob::BlobRef;
use crate::effect::EffectId;
use crate::ids::{DocumentId, ProjectId};
use crate::lessons::LessonRef;
use crate::metrics::Metrics;
use crate::run::StopReason;
use crate::time::Timestamp;
use crate::words::words;
use crate::workspace::Artifacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

facts! {
    /// `homework.*`
    enum HomeworkFact as Homework;

    /// The workspace exists: queued → running. Its documents are created in the same commit.
    RunStarted = "homework.run_started" {
        workspace_project_id: ProjectId,
        workspace_document_id: DocumentId,
        scratchpad_document_id: DocumentId,
        plan_document_id: DocumentId,
    }

    /// An iteration, one job, begins: the planner is wanted.
    IterationStarted = "homework.iteration_started" {
        iteration: u32,
    }

    /// A model's answer did not fit its role's schema: it is asked again, once; after that its work is given up.
    AnswerRejected = "homework.answer_rejected" {
        effect: EffectId,
        errors: Vec<String>,
        response: BlobRef,
    }

    /// The planner's answer was accepted: planning → acting. The plan and the tool calls have facts of their own.
    Planned = "homework.planned" {
        iteration: u32,
        progress_summary: String,
        remaining_work: Vec<String>,
        completion_evidence: Vec<EvidenceClaim>,
        exit_signal: bool,
        needs_user_input: bool,
        blocking_questions: Vec<String>,
        next_action_hint: NextAction,
        confidence: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch_rollup: Option<String>,
        executor_tasks: Vec<ExecutorTask>,
        /// The canonical form of the wanted actions, to detect a repeat.
        actions: Vec<String>,
        /// These actions repeat the last iteration's, which made no progress, so they are not carried out.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        withheld: bool,
    }

    /// The persisted plan has a new version, which replaces the one before.
    PlanUpdated = "homework.plan_updated" {
        iteration: u32,
        version: u32,
        steps: Vec<HomeworkStep>,
        changed: Vec<String>,
    }

    /// The planner or an executor called a tool: the call is wanted.
    ToolCallRequested = "homework.tool_call_requested" {
        call_id: EffectId,
        iteration: u32,
        tool: String,
        arguments: Value,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        purpose: String,
        /// The executor's branch; absent for the planner's own calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repair_of: Option<EffectId>,
    }

    /// A tool call is over, well or not; what it changed commits with this fact.
    ToolCallResult = "homework.tool_call_result" {
        call_id: EffectId,
        tool: String,
        ok: bool,
        /// One or two lines for the journal.
        summary: String,
        /// What went back to the model, whole.
        result: BlobRef,
        /// The characters of the result, where they are fewer than its bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chars: Option<u32>,
        /// A read this run had not seen before (B10).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new_reading: bool,
        /// Of earlier versions: one fingerprint of the whole result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reading: Option<crate::blob::Hash>,
        /// Fingerprints of what it showed or changed that this run had not had before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<crate::blob::Hash>,
        /// What it changed, it changed only back to what this run has had: no progress.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        known_change: bool,
        /// It was never carried out, because it was over a limit; such a call is not counted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_run: bool,
        #[serde(default, skip_serializing_if = "Artifacts::is_empty")]
        artifacts: Artifacts,
        /// The lesson that was stored, pending, in the same commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lesson: Option<LessonRef>,
    }

    /// The one repair of this iteration's failed calls is over; corrected calls follow.
    RepairAttempted = "homework.repair_attempted" {
        iteration: u32,
        for_call_ids: Vec<EffectId>,
        corrected: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    }

    /// An executor begins its task on its branch: its first round is wanted.
    ExecutorStarted = "homework.executor_started" {
        iteration: u32,
        index: u32,
        branch_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step_id: Option<String>,
        title: String,
        objective: String,
        tools: Vec<String>,
        /// Named by the task, and not among the run's tools.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refused_tools: Vec<String>,
        scratchpad_document_id: DocumentId,
        /// The handle of the subagent it is delegated to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    }

    /// An executor answered one round: its calls run, then the next round, or it is done. The calls have facts of their
    /// own.
    ExecutorAnswered = "homework.executor_answered" {
        index: u32,
        branch_id: String,
        round: u32,
        thought: String,
        done: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_snippet: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        completed_step_ids: Vec<String>,
        /// Neither done nor with calls to wait for: the round contained only thoughts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        idle: bool,
    }

    /// An executor is done, failed, or never ran. Carries the entry of the branch's own scratchpad, so that it is written
    /// exactly once.
    ExecutorFinished = "homework.executor_finished" {
        iteration: u32,
        index: u32,
        branch_id: String,
        ok: bool,
        rounds: u32,
        summary: String,
        /// At most 300 characters.
        result_snippet: String,
        completed_step_ids: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Absent when the task never ran: it was over the limit, or none of its tools exists.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry: Option<PadEntry>,
    }

    /// The iteration wanted what an earlier one did without progress; enough repeats stop the run.
    RepeatDetected = "homework.repeat_detected" {
        iteration: u32,
        /// How many repeats in a row, this one included.
        repeats: u32,
        actions: Vec<String>,
    }

    /// A repeated set of actions is barred: the next planner call is told to find another way.
    ReplanForced = "homework.replan_forced" {
        iteration: u32,
        actions: Vec<String>,
    }

    /// The planner wanted to end the run and the evidence did not hold: the run goes on.
    ExitRefused = "homework.exit_refused" {
        iteration: u32,
        reasons: Vec<String>,
    }

    /// The iteration's entry was written to the main scratchpad: one per iteration.
    ScratchpadAppended = "homework.scratchpad_appended" {
        iteration: u32,
        scratchpad_document_id: DocumentId,
        entry_key: String,
        markdown: String,
    }

    /// The next planner call does not fit the limits, so no iteration begins: the run goes on to its report and stops.
    LimitReached = "homework.limit_reached" {
        stop_reason: StopReason,
        detail: String,
    }

    /// The iteration, and with it the job, ends; `verdict` decides whether the run goes on, waits or stops.
    IterationCompleted = "homework.iteration_completed" {
        iteration: u32,
        started_at: Timestamp,
        #[serde(flatten)]
        progress: Progress,
        metrics: Metrics,
        artifacts: Artifacts,
        /// What its calls and executors brought, in short.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        results: Vec<IterationResult>,
        summary: String,
        /// Criteria with the references that verified them, in this iteration.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<VerifiedEvidence>,
        /// The planner wanted to end the run and was refused; the next request says why.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exit_refused: bool,
        /// Why the planner's answer could not be used, when it could not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<String>,
        verdict: Verdict,
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PadEntry {
    pub scratchpad_document_id: DocumentId,
    pub entry_key: String,
    pub markdown: String,
}

/// The result of one call of the planner, or of one executor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IterationResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<EffectId>,
    /// The branch of an executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_id: Option<String>,
    /// The tool with what it was called for, or the title of the executor's task.
    pub name: String,
    pub ok: bool,
    pub summary: String,
    /// The seq of the tool's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
}

/// The progress of one iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    #[serde(rename = "progress")]
    pub made: bool,
    #[serde(rename = "progressReasons")]
    pub reasons: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VerifiedEvidence {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<String>,
    pub claim: String,
    pub refs: Vec<String>,
}

words! {
    /// What the planner says should come next.
    #[derive(Default)]
    NextAction {
        #[default]
        Execute = "execute",
        Replan = "replan",
        AskUser = "ask_user",
        Stop = "stop",
    }
}

/// A criterion the planner claims is met, with its references; not verified yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceClaim {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<String>,
    #[serde(default)]
    pub claim: String,
    #[serde(default)]
    pub refs: Vec<String>,
}

/// One piece of work for an executor, on its own branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecutorTask {
    pub branch_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    pub title: String,
    pub objective: String,
    #[serde(default)]
    pub tools: Vec<String>,
    /// The handle of the subagent it is delegated to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

words! {
    /// How far a step of the plan is.
    #[derive(Default)]
    HomeworkStepStatus {
        #[default]
        Pending = "pending",
        Doing = "doing",
        Done = "done",
        Blocked = "blocked",
    }
}

/// Who works on a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepOwner {
    #[default]
    Planner,
    Executor,
}

/// One step of the persisted plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HomeworkStep {
    pub id: String,
    pub title: String,
    pub status: HomeworkStepStatus,
    pub owner: StepOwner,
    pub iteration_last_touched: u32,
}

/// How an iteration ended: the run goes on, waits or stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "go", rename_all = "snake_case")]
pub enum Verdict {
    On,
    Wait,
    Stop { reason: StopReason, detail: String },
}
