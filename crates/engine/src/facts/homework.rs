//! Facts of a homework run: one iteration at a time.

use super::facts;
use crate::blob::BlobRef;
use crate::effect::EffectId;
use crate::homework::answer::{EvidenceClaim, ExecutorTask, NextAction};
use crate::homework::plan::Step;
use crate::homework::state::Verdict;
use crate::ids::{DocumentId, ProjectId};
use crate::lessons::Learned;
use crate::metrics::Metrics;
use crate::time::Timestamp;
use crate::workspace::Artifacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

facts! {
    /// `homework.*`
    Homework {
        RunStarted = "homework.run_started",
        IterationStarted = "homework.iteration_started",
        AnswerRejected = "homework.answer_rejected",
        Planned = "homework.planned",
        PlanUpdated = "homework.plan_updated",
        ToolCallRequested = "homework.tool_call_requested",
        ToolCallResult = "homework.tool_call_result",
        RepairAttempted = "homework.repair_attempted",
        ExecutorStarted = "homework.executor_started",
        ExecutorAnswered = "homework.executor_answered",
        ExecutorFinished = "homework.executor_finished",
        RepeatDetected = "homework.repeat_detected",
        ReplanForced = "homework.replan_forced",
        ExitRefused = "homework.exit_refused",
        ScratchpadAppended = "homework.scratchpad_appended",
        IterationCompleted = "homework.iteration_completed",
    }
}

/// The workspace exists: its documents are created in the same commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    pub workspace_project_id: ProjectId,
    pub workspace_document_id: DocumentId,
    pub scratchpad_document_id: DocumentId,
    pub plan_document_id: DocumentId,
}

/// One job begins: the planner is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationStarted {
    pub iteration: u32,
}

/// A model's answer did not fit its role's schema; the first time it is asked again, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerRejected {
    pub effect: EffectId,
    pub errors: Vec<String>,
    pub response: BlobRef,
}

/// The planner's accepted answer, without the plan and the tool calls, which have facts of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    pub iteration: u32,
    pub progress_summary: String,
    pub remaining_work: Vec<String>,
    pub completion_evidence: Vec<EvidenceClaim>,
    pub exit_signal: bool,
    pub needs_user_input: bool,
    pub blocking_questions: Vec<String>,
    pub next_action_hint: NextAction,
    pub confidence: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_rollup: Option<String>,
    pub executor_tasks: Vec<ExecutorTask>,
    /// The canonical form of what it wants done, for telling a repeat.
    pub actions: Vec<String>,
    /// The same actions as the last time, which brought nothing: they are not carried out again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanUpdated {
    pub iteration: u32,
    pub version: u32,
    pub steps: Vec<Step>,
    pub changed: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallRequested {
    pub call_id: EffectId,
    pub iteration: u32,
    pub tool: String,
    pub arguments: Value,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    /// The executor's branch; absent for the planner's own calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair_of: Option<EffectId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallResult {
    pub call_id: EffectId,
    pub tool: String,
    pub ok: bool,
    /// One or two lines for the journal.
    pub summary: String,
    /// What went back to the model, whole.
    pub result: BlobRef,
    /// The characters of the result, where they are fewer than its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chars: Option<u32>,
    /// A read this run had not seen before (B10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_reading: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<crate::blob::Hash>,
    #[serde(default, skip_serializing_if = "Artifacts::is_empty")]
    pub artifacts: Artifacts,
    /// The lesson that was kept, pending, in the same commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lesson: Option<Learned>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairAttempted {
    pub iteration: u32,
    pub for_call_ids: Vec<EffectId>,
    pub corrected: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutorStarted {
    pub iteration: u32,
    pub index: u32,
    pub branch_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    pub title: String,
    pub objective: String,
    pub tools: Vec<String>,
    /// Named by the task, and not among the run's tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_tools: Vec<String>,
    pub scratchpad_document_id: DocumentId,
    /// The handle of the subagent it is given to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// One round of an executor; its tool calls have facts of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutorAnswered {
    pub index: u32,
    pub branch_id: String,
    pub round: u32,
    pub thought: String,
    pub done: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_snippet: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed_step_ids: Vec<String>,
    /// Neither done nor with calls to wait for: a round that only thought.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
}

/// Carries the entry of the branch's own pad, so that it is written exactly once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutorFinished {
    pub iteration: u32,
    pub index: u32,
    pub branch_id: String,
    pub ok: bool,
    pub rounds: u32,
    pub summary: String,
    /// At most 300 characters.
    pub result_snippet: String,
    pub completed_step_ids: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Absent when the task never ran: it was over the limit, or none of its tools exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<PadEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PadEntry {
    pub scratchpad_document_id: DocumentId,
    pub entry_key: String,
    pub markdown: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RepeatDetected {
    pub iteration: u32,
    /// How many repeats in a row, this one included.
    pub repeats: u32,
    pub actions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplanForced {
    pub iteration: u32,
    pub actions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitRefused {
    pub iteration: u32,
    pub reasons: Vec<String>,
}

/// One per iteration, on the main pad.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScratchpadAppended {
    pub iteration: u32,
    pub scratchpad_document_id: DocumentId,
    pub entry_key: String,
    pub markdown: String,
}

/// What an iteration moved, if it moved anything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    #[serde(rename = "progress")]
    pub made: bool,
    #[serde(rename = "progressReasons")]
    pub reasons: Vec<String>,
}

/// The job ends, and with it the decision how the run goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationCompleted {
    pub iteration: u32,
    pub started_at: Timestamp,
    #[serde(flatten)]
    pub progress: Progress,
    pub metrics: Metrics,
    pub artifacts: Artifacts,
    pub summary: String,
    /// Criteria with the references that verified them, in this iteration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<VerifiedEvidence>,
    /// The planner wanted out and was refused: the next request says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exit_refused: bool,
    /// Why the planner's answer could not be used, when it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedEvidence {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<String>,
    pub claim: String,
    pub refs: Vec<String>,
}
