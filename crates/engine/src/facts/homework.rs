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
    enum Homework;

    /// The workspace exists: its documents are created in the same commit.
    RunStarted = "homework.run_started" {
        workspace_project_id: ProjectId,
        workspace_document_id: DocumentId,
        scratchpad_document_id: DocumentId,
        plan_document_id: DocumentId,
    }

    /// One job begins: the planner is wanted.
    IterationStarted = "homework.iteration_started" {
        iteration: u32,
    }

    /// A model's answer did not fit its role's schema; the first time it is asked again, once.
    AnswerRejected = "homework.answer_rejected" {
        effect: EffectId,
        errors: Vec<String>,
        response: BlobRef,
    }

    /// The planner's accepted answer, without the plan and the tool calls, which have facts of their own.
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
        /// The canonical form of what it wants done, for telling a repeat.
        actions: Vec<String>,
        /// The same actions as the last time, which brought nothing: they are not carried out again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        withheld: bool,
    }

    PlanUpdated = "homework.plan_updated" {
        iteration: u32,
        version: u32,
        steps: Vec<Step>,
        changed: Vec<String>,
    }

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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reading: Option<crate::blob::Hash>,
        #[serde(default, skip_serializing_if = "Artifacts::is_empty")]
        artifacts: Artifacts,
        /// The lesson that was kept, pending, in the same commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lesson: Option<Learned>,
    }

    RepairAttempted = "homework.repair_attempted" {
        iteration: u32,
        for_call_ids: Vec<EffectId>,
        corrected: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    }

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
        /// The handle of the subagent it is given to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    }

    /// One round of an executor; its tool calls have facts of their own.
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
        /// Neither done nor with calls to wait for: a round that only thought.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        idle: bool,
    }

    /// Carries the entry of the branch's own pad, so that it is written exactly once.
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

    RepeatDetected = "homework.repeat_detected" {
        iteration: u32,
        /// How many repeats in a row, this one included.
        repeats: u32,
        actions: Vec<String>,
    }

    ReplanForced = "homework.replan_forced" {
        iteration: u32,
        actions: Vec<String>,
    }

    ExitRefused = "homework.exit_refused" {
        iteration: u32,
        reasons: Vec<String>,
    }

    /// One per iteration, on the main pad.
    ScratchpadAppended = "homework.scratchpad_appended" {
        iteration: u32,
        scratchpad_document_id: DocumentId,
        entry_key: String,
        markdown: String,
    }

    /// The job ends, and with it the decision how the run goes on.
    IterationCompleted = "homework.iteration_completed" {
        iteration: u32,
        started_at: Timestamp,
        #[serde(flatten)]
        progress: Progress,
        metrics: Metrics,
        artifacts: Artifacts,
        summary: String,
        /// Criteria with the references that verified them, in this iteration.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<VerifiedEvidence>,
        /// The planner wanted out and was refused: the next request says why.
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

/// What an iteration moved, if it moved anything.
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
