//! Facts of every kind of run: its birth, its people, its limits, its end.

use super::facts;
use crate::budget::Budgets;
use crate::effect::{EffectId, ToolList, ToolSpec};
use crate::ids::{ActorId, MessageId, NodeId, ProjectId, QuestionId};
use crate::model::Models;
use crate::run::{Criterion, Kind, Lane, ScopeKind, StopReason};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

facts! {
    /// `run.*`
    Run {
        Queued = "run.queued",
        Paused = "run.paused",
        Resumed = "run.resumed",
        QuestionAsked = "run.question_asked",
        Answered = "run.answered",
        QuestionExpired = "run.question_expired",
        WaitingOnUser = "run.waiting_on_user",
        MessageQueued = "run.message_queued",
        MessageDelivered = "run.message_delivered",
        BudgetChanged = "run.budget_changed",
        BudgetWarning = "run.budget_warning",
        ProviderWaiting = "run.provider_waiting",
        Completed = "run.completed",
        Stopped = "run.stopped",
        Failed = "run.failed",
        Canceled = "run.canceled",
        ReportCreated = "run.report_created",
        Recovered = "run.recovered",
    }
}

/// nothing → queued. The run's whole brief: nothing outside the log decides what it may do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Queued {
    pub kind: Kind,
    pub objective: String,
    pub scope: ScopeKind,
    pub project_ids: Vec<ProjectId>,
    pub success_criteria: Vec<Criterion>,
    /// What the run may use; executors get a part of it.
    pub tools: Vec<ToolSpec>,
    pub budgets: Budgets,
    pub models: Models,
    pub owner: ActorId,
    /// Where this run's own documents live.
    pub workspace_project_id: ProjectId,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What each server of tools offered at that moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_lists: Vec<ToolList>,
    /// Who is sent on a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// Whom its planners may give work to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Agent>,
    /// Its documents go to a project of its own, though it works in one: its owner may only read that one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_workspace: bool,
}

/// A subagent as it was when its errand was given; what it may do is judged when it does it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub id: ActorId,
    pub handle: String,
    pub identity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
}

/// running → paused. Calls in flight finish and are recorded; none starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Paused {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Nobody paused the run itself: every branch that could move is paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub branches: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeReason {
    Unpaused,
    Answered,
    /// The last open question's time was over.
    Expired,
    /// Nobody needs the answers any more: what asked was canceled.
    Withdrawn,
    /// Limits were raised or a person said go on; the no-progress counters start again.
    Continued,
    Retry,
    /// A person does not want to wait for a provider any longer: calls that back off are tried at once.
    TryNow,
}

/// paused, waiting, stopped or failed → running; with `try_now` a running one stops waiting for its provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumed {
    pub reason: ResumeReason,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionAsked {
    pub question_id: QuestionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The call that waits for the answer, where a tool asks or its outcome is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    pub question_id: QuestionId,
    pub text: String,
    pub by: ActorId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionExpired {
    pub question_id: QuestionId,
    /// Taken for the answer, where one was given with the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whoever asked has ended: nobody waits for an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
}

/// running → waiting_on_user: nothing but answers can move the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingOnUser {
    pub question_ids: Vec<QuestionId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageQueued {
    pub message_id: MessageId,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    pub lane: Lane,
}

/// The receipt: this model call was shown the message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageDelivered {
    pub message_id: MessageId,
    pub effect: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetChanged {
    pub budgets: Budgets,
}

/// Once per limit, at four fifths of what calls may use of it, or when a call has no room in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetWarning {
    pub budget: String,
    pub used: f64,
    pub limit: f64,
}

/// The provider is parked; the run waits and its clock stands still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderWaiting {
    pub provider: String,
    pub until: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// running → completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completed {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The newest words of people that no call was ever shown, in short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages_not_shown: Vec<String>,
}

/// running → stopped: a limit or the no-progress breaker; `continue` goes on from here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    pub stop_reason: StopReason,
    pub detail: String,
    /// The newest words of people that no call was ever shown, in short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages_not_shown: Vec<String>,
}

/// running → failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failed {
    pub stop_reason: StopReason,
    pub error: String,
    /// The newest words of people that no call was ever shown, in short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages_not_shown: Vec<String>,
}

/// anything but terminal → canceled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Canceled {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The newest words of people that no call was ever shown, in short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages_not_shown: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportCreated {
    pub report: Value,
}

/// A new driver took over a run that was moving: what happened after `activeUntil` is nobody's working time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recovered {
    pub active_until: Timestamp,
    /// Calls that were in flight when the last driver died.
    pub lost: u32,
}
