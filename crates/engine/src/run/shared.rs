//! The state that every kind of run has. Stored in view checkpoints: a change of field names or meaning needs a new
//! `view::CHECKPOINT_FORMAT`.

use super::admission::least_call;
use super::effect_state::EffectState;
use super::effects::MAX_BACKOFF_MS;
use super::terms::{Lane, Status, StopReason};
use crate::blob::Hash;
use crate::budget::{Admission, Budgets, Exhausted, Ledger, Reserve};
use crate::criteria::{Check, CriterionRecord};
use crate::effect::{AnsweredQuestion, EffectId, ExternalTool, RunContext};
use crate::event::genesis;
use crate::facts::evidence::EndState;
use crate::facts::run::{Agent, ProviderWaiting, QuestionExpired, Queued};
use crate::ids::{ActorId, MessageId, NodeId, ProjectId, QuestionId, RunId};
use crate::metrics::Metrics;
use crate::money::Usd;
use crate::time::Timestamp;
use crate::workspace::Scope;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The activity of a run that only resuming a node can move.
pub const PAUSED_AT_NODES: &str = "waiting for paused nodes";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shared {
    pub id: RunId,
    pub brief: Queued,
    /// The status apart from the pause, which is a flag of its own.
    pub(super) unpaused_status: Status,
    pub paused: bool,
    /// Paused because every branch that could move is: resuming one of them resumes the run.
    pub paused_by_branches: bool,
    pub stop_reason: Option<StopReason>,
    pub stop_detail: Option<String>,
    pub budgets: Budgets,
    pub ledger: Ledger,
    pub metrics: Metrics,
    /// Calls that are in flight, back off, wait for an answer or have an unknown outcome. Finished calls are removed.
    pub effects: BTreeMap<EffectId, EffectState>,
    /// The last attempt of calls that failed for good, so that a continued run does not reuse an attempt's number.
    pub gave_up: BTreeMap<EffectId, u32>,
    /// The run has read content from a tool that is not built in.
    pub tainted: bool,
    pub questions: Vec<Question>,
    pub messages: Vec<UserMessage>,
    /// Messages that were shown and are no longer among them.
    #[serde(default)]
    pub older_messages: u32,
    pub provider_wait: Option<ProviderWaiting>,
    /// A person wants the provider tried now, even if it is parked.
    #[serde(default)]
    pub probe_wanted: bool,
    /// The limit that had no room for a call; raising limits clears it.
    pub exhausted: Option<Exhausted>,
    pub(super) warned: Vec<String>,
    pub report: Option<Value>,
    /// The success criteria with what is known of each.
    pub criteria: Vec<CriterionRecord>,
    /// The check of criteria in progress, and how many there were.
    pub check: Option<Box<Check>>,
    pub checks: u32,
    /// What the run left when it ended last; absent when an earlier version ended it.
    pub end_state: Option<EndState>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub updated_at: Timestamp,
    /// Working time is counted up to here.
    pub(super) counted_until: Timestamp,
    /// The time of the last command.
    pub(super) last_command_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// How often the run ended and was continued. Part of the ids of its last effects, which must differ each time.
    pub generation: u32,
    pub last_seq: u64,
    pub head: Hash,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub id: QuestionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    pub text: String,
    pub options: Vec<String>,
    pub deadline_at: Option<Timestamp>,
    pub default: Option<String>,
    pub answer: Option<String>,
    /// How it was closed without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<ClosedBy>,
    pub asked_at: Timestamp,
    pub answered_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosedBy {
    /// The deadline passed, and its default was taken.
    Default,
    /// The deadline passed, and there was no default.
    Unanswered,
    /// The node that asked has ended.
    Withdrawn,
}

impl ClosedBy {
    /// How it was closed, and the text shown as its answer.
    pub(super) fn by(expired: &QuestionExpired) -> (ClosedBy, String) {
        match &expired.default {
            _ if expired.withdrawn => (ClosedBy::Withdrawn, "(withdrawn: the node that asked has ended)".into()),
            Some(default) => (ClosedBy::Default, default.clone()),
            None => (ClosedBy::Unanswered, "(no answer came in time)".into()),
        }
    }
}

/// A message from a person to the run, and whether a model has been shown it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    pub id: MessageId,
    pub text: String,
    pub node_id: Option<NodeId>,
    pub lane: Lane,
    pub delivered: bool,
}

impl Shared {
    pub(crate) fn new(id: RunId, brief: Queued, at: Timestamp) -> Shared {
        let criteria = brief.success_criteria.iter().map(CriterionRecord::from).collect();
        let metrics = Metrics { cost_known: brief.models.price_known(), ..Metrics::default() };
        Shared {
            id,
            budgets: brief.budgets.clone(),
            brief,
            unpaused_status: Status::Queued,
            paused: false,
            paused_by_branches: false,
            stop_reason: None,
            stop_detail: None,
            ledger: Ledger::default(),
            metrics,
            effects: BTreeMap::new(),
            gave_up: BTreeMap::new(),
            tainted: false,
            questions: Vec::new(),
            messages: Vec::new(),
            older_messages: 0,
            provider_wait: None,
            probe_wanted: false,
            exhausted: None,
            warned: Vec::new(),
            report: None,
            criteria,
            check: None,
            checks: 0,
            end_state: None,
            created_at: at,
            started_at: None,
            updated_at: at,
            counted_until: at,
            last_command_at: None,
            ended_at: None,
            generation: 0,
            last_seq: 0,
            head: genesis(id),
        }
    }

    pub fn status(&self) -> Status {
        if self.paused && !self.unpaused_status.is_terminal() { Status::Paused } else { self.unpaused_status }
    }

    /// Whether it may start new work. A run that has ended only moves while its criteria are checked again.
    pub fn is_moving(&self) -> bool {
        matches!(self.status(), Status::Queued | Status::Running) || self.is_checked_after_its_end()
    }

    pub fn is_checked_after_its_end(&self) -> bool {
        self.status().is_terminal() && self.is_checking()
    }

    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|question| question.answer.is_none())
    }

    /// Where a write without a project goes: the run's one project, else its own workspace project.
    pub fn home_project(&self) -> ProjectId {
        match self.brief.project_ids.as_slice() {
            [only] if !self.brief.own_workspace => *only,
            _ => self.brief.workspace_project_id,
        }
    }

    /// The owner's authority, narrowed to the run's projects and its own workspace.
    pub fn scope(&self) -> Scope {
        use super::terms::ScopeKind;
        if let Some(agent) = &self.brief.agent {
            return Scope::OnBehalf { agent: agent.id, owner: self.brief.owner };
        }
        match self.brief.scope {
            ScopeKind::Global => Scope::Actor(self.brief.owner),
            ScopeKind::Project | ScopeKind::MultiProject => {
                let mut projects = self.brief.project_ids.clone();
                if !projects.contains(&self.brief.workspace_project_id) {
                    projects.push(self.brief.workspace_project_id);
                }
                Scope::Within(self.brief.owner, projects)
            }
        }
    }

    pub fn context(&self, now: Timestamp) -> RunContext {
        RunContext {
            run_id: self.id,
            scope: self.scope(),
            home_project: self.home_project(),
            projects: self.brief.project_ids.clone(),
            tainted: self.tainted,
            now,
        }
    }

    /// One of the subagents this run may delegate to.
    pub(crate) fn agent(&self, handle: &str) -> Option<&Agent> {
        self.brief.agents.iter().find(|agent| agent.handle == handle)
    }

    /// Its id. For a handle the run does not have, the nil id, with which every call is refused.
    pub(crate) fn agent_id(&self, handle: &str) -> ActorId {
        self.agent(handle).map_or(ActorId(uuid::Uuid::nil()), |agent| agent.id)
    }

    /// Resolves the subagents a planner named. An unknown handle is an error that lists the known ones; in a run without
    /// subagents the field is ignored.
    pub(crate) fn assign<'a>(&self, named: impl Iterator<Item = &'a mut Option<String>>) -> Result<(), Vec<String>> {
        let mut errors = Vec::new();
        for handle in named {
            *handle = handle.take().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
            let Some(name) = handle.as_deref().filter(|name| self.agent(name).is_none()) else { continue };
            if self.brief.agents.is_empty() {
                *handle = None;
                continue;
            }
            let valid: Vec<&str> = self.brief.agents.iter().map(|agent| agent.handle.as_str()).collect();
            let name: String = name.chars().take(60).collect();
            errors.push(format!(
                "agent {name:?} is not one of this run's agents: {}; null gives the work to none of them",
                valid.join(", ")
            ));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// The server of a tool that is not built in.
    pub(crate) fn external_tool(&self, tool: &str) -> Option<&ExternalTool> {
        self.brief.tools.iter().find(|known| known.name == tool)?.external.as_ref()
    }

    /// The answer to the question this call asked before.
    pub(crate) fn answered_question(&self, effect: &EffectId) -> Option<AnsweredQuestion> {
        match self.effects.get(effect) {
            Some(EffectState::Asking { tool_state, answer: Some(answer), .. }) => {
                Some(AnsweredQuestion { tool_state: tool_state.clone(), answer: answer.clone() })
            }
            _ => None,
        }
    }

    pub fn wrap_up_reserve(&self) -> Reserve {
        Reserve::wrap_up(&self.brief.models)
    }

    /// What every call but the last ones must leave: the wrap-up reserve, and room for the verifier.
    pub(crate) fn kept_reserve(&self) -> Reserve {
        self.kept_reserve_within(&self.budgets)
    }

    /// The same under these limits. The verifier's room is a quarter of what a small limit leaves beside a first call and the
    /// wrap-up reserve, so that a budget that can start a run still can.
    pub(crate) fn kept_reserve_within(&self, budgets: &Budgets) -> Reserve {
        let wrap_up = self.wrap_up_reserve();
        if !self.verifies() || self.criteria.iter().all(CriterionRecord::holds) {
            return wrap_up;
        }
        let needed = wrap_up.plus(least_call(&self.brief.models));
        let tokens = budgets.max_tokens.map_or(0, |limit| limit.saturating_sub(needed.tokens) / 4);
        let cost = budgets.max_cost_usd.map_or(Usd(0), |limit| Usd(limit.saturating_sub(needed.cost_usd).0 / 4));
        wrap_up.plus(Reserve { tokens: tokens.min(wrap_up.tokens), cost_usd: cost.min(wrap_up.cost_usd) })
    }

    /// Whether a call fits the run's limits, beside what is kept for the last calls.
    pub(crate) fn admit(&self, call: Reserve, now: Timestamp) -> Admission {
        self.admit_beside(call, self.kept_reserve(), now)
    }

    /// The same for a call of the verifier, which may use the room that is kept for it. A check after the end of a run is not held to
    /// its time.
    pub(crate) fn admit_check(&self, call: Reserve, now: Timestamp) -> Admission {
        match self.is_checked_after_its_end() {
            true => self.ledger.admit(call, &self.budgets, self.wrap_up_reserve()),
            false => self.admit_beside(call, self.wrap_up_reserve(), now),
        }
    }

    fn admit_beside(&self, call: Reserve, kept: Reserve, now: Timestamp) -> Admission {
        if self.budgets.max_wall_ms.is_some_and(|limit| self.running_ms(now) >= limit) {
            return Admission::Never(Exhausted::BudgetWallClock);
        }
        self.ledger.admit(call, &self.budgets, kept)
    }

    /// Working time up to `now`.
    pub fn running_ms(&self, now: Timestamp) -> i64 {
        self.metrics.running_ms + if self.is_working() { now.since(self.counted_until) } else { 0 }
    }

    /// The clock runs while anything is in flight or ready: not while queued, paused, waiting, backing off or parked.
    pub(super) fn is_working(&self) -> bool {
        let in_flight = self.effects.values().any(|effect| matches!(effect, EffectState::InFlight(_)));
        let held_up = self.provider_wait.is_some()
            || self
                .effects
                .values()
                .any(|effect| matches!(effect, EffectState::BackingOff { .. }) || effect.awaits_a_person());
        self.status() == Status::Running && (in_flight || !held_up)
    }

    /// The provider the whole run waits for: one that is parked, or that asked for a long wait.
    pub fn waits_for_provider(&self) -> Option<ProviderWaiting> {
        if self.status() != Status::Running {
            return None;
        }
        if self.provider_wait.is_some() || self.effects.values().any(|state| matches!(state, EffectState::InFlight(_)))
        {
            return self.provider_wait.clone();
        }
        let long = |until: Timestamp| until.since(self.updated_at) > MAX_BACKOFF_MS;
        let waits = self.effects.values().filter_map(|state| match state {
            EffectState::BackingOff { until, model: Some(model), .. } if long(*until) => Some((*until, model)),
            _ => None,
        });
        let (until, model) = waits.min()?;
        let provider = model.split_once('/').map_or(model.as_str(), |(provider, _)| provider).to_owned();
        Some(ProviderWaiting { provider, until, error: None })
    }

    /// The tool call that has been in flight longest.
    fn tool_out(&self) -> Option<(&str, Timestamp)> {
        let flights = self.effects.values().filter_map(|state| match state {
            EffectState::InFlight(flight) if flight.role().is_none() => Some((flight.what.as_str(), flight.since)),
            _ => None,
        });
        flights.min_by_key(|(_, since)| *since)
    }

    /// One line about the run; `working` describes a running machine.
    pub(crate) fn activity(&self, working: impl FnOnce() -> String) -> String {
        match self.status() {
            Status::Queued => "waiting for a worker".into(),
            _ if self.is_checking() && self.status() != Status::Paused => "checking the criteria".into(),
            Status::Running if self.waits_for_provider().is_some() => "waiting: provider".into(),
            Status::Running => match self.tool_out() {
                Some((tool, since)) => format!("{}; {tool} called at {since}", working()),
                None => working(),
            },
            Status::WaitingOnUser => match self.open_questions().count() {
                1 => "waiting for an answer".into(),
                open => format!("waiting for {open} answers"),
            },
            Status::Paused if self.paused_by_branches => PAUSED_AT_NODES.into(),
            status => status.name().replace('_', " "),
        }
    }
}
