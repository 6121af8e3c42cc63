//! Effects: calls to models and tools, whether an interrupted one may be repeated, and its outcome.
//! Failures are data here; `run/effects.rs` decides about further attempts.

use crate::blob::Hash;
use crate::budget::Reserve;
use crate::ids::{ActorId, DocumentId, ProjectId, RunId};
use crate::model::{ModelSpec, Role};
use crate::request::Request;
use crate::role_schema::RoleSchema;
use crate::workspace::{Mutation, Scope};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// A deterministic position in a run, e.g. `9f3c….i3.plan`, `….i3.t1`, `….i3.x0.r2`: equal on every
/// attempt, and different from every other run's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct EffectId(pub String);

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for EffectId {
    fn from(id: String) -> Self {
        EffectId(id)
    }
}

/// Whether a tool call that was interrupted may be made again. Events and the API call it `class`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RepeatSafety {
    /// Changes nothing: done again.
    ReadOnly,
    /// Done again with the same key.
    Idempotent,
    /// Never repeated automatically: its outcome is unknown until a person decides.
    Once,
}

impl RepeatSafety {
    pub fn name(self) -> &'static str {
        match self {
            RepeatSafety::ReadOnly => "read-only",
            RepeatSafety::Idempotent => "idempotent",
            RepeatSafety::Once => "once",
        }
    }
}

/// One attempt at an effect, ready to be performed.
#[derive(Clone, Debug)]
pub struct EffectAttempt {
    pub run: RunContext,
    pub effect: EffectId,
    /// Counted from 1.
    pub number: u32,
    pub work: Work,
}

/// What a performer may know of the run it works for.
#[derive(Clone, Debug)]
pub struct RunContext {
    pub run_id: RunId,
    /// The owner's authority narrowed to the run's projects; evaluated when the tool is called.
    pub scope: Scope,
    /// Where a write without `project_id` goes.
    pub home_project: ProjectId,
    /// The projects it was given; none for a run over everything its owner may use.
    pub projects: Vec<ProjectId>,
    /// The run has read content from outside, so its next call may follow injected instructions.
    pub tainted: bool,
    /// The instant of the call: new ids are derived from it.
    pub now: crate::time::Timestamp,
}

/// A tool as it was when the run was created. Recorded with the run, and shown to models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolSpec {
    pub name: String,
    /// `title: 1-500 characters, project_id?: uuid`: the names, optional ones marked, and what each may be.
    pub arguments: String,
    pub description: String,
    /// Changes nothing; what an executor gets when it names no tools.
    pub read: bool,
    /// Set for an external tool: called with an intent, and treated by its class when it is interrupted.
    #[serde(rename = "outside", default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalTool>,
}

/// What a run knows of a tool that is not built in: its server, and what the tool was when the run was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalTool {
    pub server: String,
    pub class: RepeatSafety,
    /// Of its description and schema. A tool whose hash differs at the time of the call is refused: it is not what was granted.
    pub hash: String,
}

/// The tools a server offered when a run was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolList {
    pub server: String,
    pub protocol: String,
    pub hash: String,
}

#[derive(Clone, Debug)]
pub enum Work {
    Model(ModelCall),
    Tool(ToolCall),
    /// The platform's own reading for a check of criteria. No model can ask for it.
    Check(CheckWork),
}

/// Built in like a tool; the outcome is a `ToolOutcome` whose content is one JSON value for each item, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckWork {
    /// `doc:<id>` and `task:<id>`. The result has `title`, `version` and `text`, or is `null` where nothing can be read.
    ReadEvidence { refs: Vec<String> },
    /// Whether each quote stands in its text, word for word.
    FindQuotes { quotes: Vec<QuoteToFind> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuoteToFind {
    pub quote: String,
    /// The stored text as the verifier was shown it: one JSON value.
    pub text: Hash,
}

#[derive(Clone, Debug)]
pub struct ModelCall {
    pub role: Role,
    pub model: ModelSpec,
    pub request: Request,
    /// What the answer must fit.
    pub schema: &'static RoleSchema,
    pub max_tokens: u32,
}

impl ModelCall {
    /// The most it may use.
    pub fn reserve(&self) -> Reserve {
        Reserve::for_call(self.request.bytes(), self.max_tokens, self.model.price)
    }
}

#[derive(Clone, Debug)]
pub struct ToolCall {
    pub tool: String,
    pub arguments: Value,
    /// The tools this caller may use.
    pub granted: Vec<String>,
    /// New documents and tasks without a parent link under this one.
    pub home_document: Option<DocumentId>,
    /// `homework_run_id`, `branch_id`, `iteration`: merged into the props of everything it creates.
    pub props: Value,
    /// Set for an external tool.
    pub external: Option<ExternalTool>,
    /// A person's answer to the question this call asked before.
    pub answered: Option<AnsweredQuestion>,
    /// The subagent that calls. Its permissions are checked at the time of the call.
    pub agent: Option<ActorId>,
}

/// The answer a tool call that asked a question is repeated with.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredQuestion {
    /// The state the tool asked to get back.
    pub tool_state: Value,
    pub answer: String,
}

/// A question that a tool asks a person before it goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolQuestion {
    pub text: String,
    pub options: Vec<String>,
    /// Given back with the answer.
    pub tool_state: Value,
}

#[derive(Clone, Debug)]
pub enum Outcome {
    Model(Result<ModelReply, CallError>),
    Tool(ToolOutcome),
    /// The tool asks a question; it is called again with the answer.
    Asks(ToolQuestion),
    /// The tool was called and no response came back, so its effect is unknown.
    Lost(String),
    /// The store could not be read. Nothing was sent, so the work is tried again.
    Unavailable(String),
}

/// A reply whose stream reached its terminator. A stream that broke is a `CallError`.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelReply {
    pub text: String,
    pub usage: Usage,
    /// The model stopped at `max_tokens`. Such a reply is paid for and not used.
    pub truncated: bool,
    pub provider_request_id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    /// The server gave no usable figures; these are ours.
    pub estimated: bool,
}

/// Grouped by what the run does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallFailure {
    /// The provider could not be reached or answered 5xx: retried, and counted by the circuit breaker.
    Unreachable,
    /// 429 and similar: retried, never parks the provider.
    RateLimited,
    /// The answer broke off, stalled or was empty: retried.
    Interrupted,
    /// 401/403.
    Auth,
    /// The account has no credit left.
    Quota,
    /// The provider will never take this request.
    Rejected,
    /// This machine could not make the call (no file handle was left): retried, and not counted as an attempt.
    Local,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    pub failure: CallFailure,
    /// For people: names the provider, the address and what it said, without secrets.
    pub message: String,
    /// A floor for the wait before the next attempt.
    pub retry_after_ms: Option<i64>,
    /// The request left the machine and may have been billed.
    pub maybe_paid: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutcome {
    pub result: Result<ToolOutput, String>,
    /// Committed together with the outcome, or not at all.
    pub mutations: Vec<Mutation>,
}

impl ToolOutcome {
    /// Nothing was done; `why` is shown to the model.
    pub fn refused(why: impl Into<String>) -> ToolOutcome {
        ToolOutcome { result: Err(why.into()), mutations: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// What the model is shown.
    pub content: Value,
    /// One or two lines for the journal.
    pub summary: String,
    /// A pure reading: counts as progress only when its content is new.
    pub read: bool,
}
