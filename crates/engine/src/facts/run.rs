//! Facts common to all kinds of run: its brief, questions, messages, limits and end.

use super::evidence::{
    Citation, CitedEvidence, CriterionDecision, CriterionState, EndState, EvidenceText, GivenVerdict, RunOutcome,
};
use super::facts;
use crate::blob::BlobRef;
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
    enum RunFact as Run;

    /// A run was accepted: nothing → queued. Its whole brief: nothing outside the log decides what it may do.
    Queued = "run.queued" {
        kind: Kind,
        objective: String,
        scope: ScopeKind,
        project_ids: Vec<ProjectId>,
        success_criteria: Vec<Criterion>,
        /// What the run may use; executors get a part of it.
        tools: Vec<ToolSpec>,
        budgets: Budgets,
        models: Models,
        owner: ActorId,
        /// Where this run's own documents live.
        workspace_project_id: ProjectId,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
        /// The tools each tool server offered when the run was created.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_lists: Vec<ToolList>,
        /// The subagent of a task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Agent>,
        /// The subagents its planners may delegate to.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        agents: Vec<Agent>,
        /// Its documents go to a project of its own, because its owner may only read the project it works in.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own_workspace: bool,
        /// Its criteria are not checked: what is cited for them stays a claim.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_verify: bool,
    }

    /// A person paused the run, or every branch that could move is paused: running → paused. Calls in flight finish and
    /// are recorded; none starts.
    Paused = "run.paused" {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Nobody paused the run itself: every branch that could move is paused.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        branches: bool,
    }

    /// paused, waiting, stopped or failed → running; with `try_now` a running one stops waiting for its provider.
    Resumed = "run.resumed" {
        reason: ResumeReason,
    }

    /// The run asks a person. It goes on with whatever does not need the answer; the status stays.
    QuestionAsked = "run.question_asked" {
        question_id: QuestionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node_id: Option<NodeId>,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
        /// The call that waits for the answer, where a tool asks or its outcome is unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effect: Option<EffectId>,
    }

    /// A person answered a question, which is closed; what waited for it may move again.
    Answered = "run.answered" {
        question_id: QuestionId,
        text: String,
        by: ActorId,
    }

    /// A question closed without an answer: its deadline passed, or the node that asked has ended.
    QuestionExpired = "run.question_expired" {
        question_id: QuestionId,
        /// The default that was used as the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
        /// The node that asked has ended, so nothing waits for the answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        withdrawn: bool,
    }

    /// running → waiting_on_user: nothing but answers can move the run.
    WaitingOnUser = "run.waiting_on_user" {
        question_ids: Vec<QuestionId>,
    }

    /// A person sent the run a message; it is shown to the next call of its lane. The status stays.
    MessageQueued = "run.message_queued" {
        message_id: MessageId,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node_id: Option<NodeId>,
        lane: Lane,
    }

    /// The receipt: this model call was shown the message, which is no longer queued.
    MessageDelivered = "run.message_delivered" {
        message_id: MessageId,
        effect: String,
    }

    /// A person changed limits: these hold from here on. The status stays.
    BudgetChanged = "run.budget_changed" {
        budgets: Budgets,
    }

    /// A limit is close: once per limit, at four fifths of what calls may use of it, or when a call has no room in it.
    /// The status stays.
    BudgetWarning = "run.budget_warning" {
        budget: String,
        used: f64,
        limit: f64,
    }

    /// The provider is parked; the run waits, still running, and its clock stands still.
    ProviderWaiting = "run.provider_waiting" {
        provider: String,
        until: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    }

    /// The work is done: running → completed.
    Completed = "run.completed" {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        #[serde(flatten)]
        ended: Ended,
    }

    /// A limit or the no-progress breaker ended the work: running → stopped; `continue` goes on from here.
    Stopped = "run.stopped" {
        stop_reason: StopReason,
        detail: String,
        #[serde(flatten)]
        ended: Ended,
    }

    /// The run cannot go on: running → failed.
    Failed = "run.failed" {
        stop_reason: StopReason,
        error: String,
        #[serde(flatten)]
        ended: Ended,
    }

    /// A person canceled the run: anything but terminal → canceled.
    Canceled = "run.canceled" {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        #[serde(flatten)]
        ended: Ended,
    }

    /// The report was made from the log; the event that ends the run follows in the same commit.
    ReportCreated = "run.report_created" {
        report: Value,
    }

    /// The verifier is to judge these criteria: what they cite is read next. The status stays.
    CheckStarted = "run.check_started" {
        /// Counted from 1.
        check: u32,
        citations: Vec<Citation>,
        /// Cited texts that the log has already: results of tools, and data.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        known: Vec<EvidenceText>,
        /// A person asked: what was judged before is judged again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        forced: bool,
    }

    /// What is cited was read, each text in the version it had at this moment: the verifier is wanted for criteria whose
    /// evidence is new.
    EvidenceRead = "run.evidence_read" {
        check: u32,
        evidence: Vec<EvidenceText>,
    }

    /// The verifier's answer did not fit its schema, or no quote of a criterion it calls met was found: it is asked again.
    CheckRejected = "run.check_rejected" {
        effect: EffectId,
        errors: Vec<String>,
        response: BlobRef,
        /// The answer fitted; quotes were missing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        quotes: bool,
    }

    /// The verifier answered: its quotes are looked for next.
    VerdictsGiven = "run.verdicts_given" {
        effect: EffectId,
        verdicts: Vec<GivenVerdict>,
        response: BlobRef,
    }

    /// What is known of a criterion now. A person's word on it stays.
    CriterionChecked = "run.criterion_checked" {
        criterion: String,
        state: CriterionState,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        evidence: Vec<CitedEvidence>,
        /// The model that judged it; absent when none did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    }

    /// A person accepted or rejected a criterion, or wants it checked again.
    CriterionDecided = "run.criterion_decided" {
        criterion: String,
        decision: CriterionDecision,
        by: ActorId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    /// A new driver took over a running run: time after `activeUntil` does not count as working time. The
    /// status stays.
    Recovered = "run.recovered" {
        active_until: Timestamp,
        /// Calls that were in flight when the last driver died.
        lost: u32,
    }
}

/// What every event that ends a run says besides why. `Run` fills it in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// The newest messages that no call was shown, shortened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages_not_shown: Vec<String>,
    /// What the run came to; a person's later word on a criterion may change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
    /// Absent in the logs of versions that knew no outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_state: Option<EndState>,
}

/// A subagent as it was when the run was created. Its permissions are checked at every call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub id: ActorId,
    pub handle: String,
    pub identity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResumeReason {
    Unpaused,
    Answered,
    /// The deadline of the last open question passed.
    Expired,
    /// The nodes that asked were canceled.
    Withdrawn,
    /// A person continued the run; the no-progress counters start again.
    Continued,
    Retry,
    /// A person wants the provider tried now: calls that back off are tried at once.
    TryNow,
}
