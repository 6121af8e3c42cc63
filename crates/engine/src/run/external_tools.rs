//! Calls of tools that are not built in: their outcomes, the questions they ask, and calls whose outcome is unknown.
//! A once-only call is never made again unless a person says so.

use super::commands::{Refusal, refuse};
use super::effect_state::{CallInFlight, EffectState};
use super::effects::Retry;
use super::terms::Status;
use super::{Input, Run};
use crate::actor::Actor;
use crate::budget::Settled;
use crate::effect::{EffectId, RepeatSafety, ToolCall, ToolOutcome, ToolOutput, ToolQuestion, Work};
use crate::facts::effect::{Decision, FinishedAs, Resolved, Unknown};
use crate::facts::run::{Answered, QuestionAsked, WaitingOnUser};
use crate::ids::{ActorId, QuestionId};
use crate::time::Timestamp;
use serde_json::json;

/// Attempts of a repeatable call; after the last one the model is shown the error.
const MAX_ATTEMPTS: u32 = 3;
/// The most questions one call may ask.
const MAX_QUESTIONS_PER_CALL: u32 = 20;
/// In characters of an error in `effect.finished`; the tool's result holds all of it.
const MAX_ERROR_CHARS: usize = 600;

impl Run {
    pub(super) fn tool_answered(
        &mut self,
        effect: &EffectId,
        flight: &CallInFlight,
        outcome: &ToolOutcome,
        now: Timestamp,
    ) {
        let (finished, error) = match &outcome.result {
            Ok(_) => (FinishedAs::Ok, None),
            Err(error) => (FinishedAs::Failed, Some(error.chars().take(MAX_ERROR_CHARS).collect())),
        };
        let finished = if self.want(effect).is_some() { finished } else { FinishedAs::Canceled };
        let retry = Retry { error, ..Retry::default() };
        self.finish(effect, flight.attempt, finished, Settled::default(), retry, now);
        self.decide(Input::Tool { effect, outcome }, now);
    }

    pub(super) fn tool_asks(&mut self, effect: &EffectId, flight: &CallInFlight, asking: ToolQuestion, now: Timestamp) {
        if flight.attempt >= MAX_QUESTIONS_PER_CALL || self.want(effect).is_none() {
            let error = format!("{} asked {MAX_QUESTIONS_PER_CALL} times and was not asked again", flight.what);
            return self.tool_answered(effect, flight, &ToolOutcome::refused(error), now);
        }
        let ToolQuestion { text, options, tool_state } = asking;
        let retry = Retry { tool_state: Some(tool_state), ..Retry::default() };
        self.finish(effect, flight.attempt, FinishedAs::Asked, Settled::default(), retry, now);
        self.ask(effect, text, options, "a tool asks", now);
    }

    /// No response came back. A repeatable call is tried again; for a once-only call a person is asked what happened.
    pub(super) fn tool_lost(&mut self, effect: &EffectId, flight: &CallInFlight, reason: String, now: Timestamp) {
        if self.want(effect).is_some() && self.is_once(&flight.what) {
            return self.unknown(effect, flight, reason, now);
        }
        if self.want(effect).is_none() || flight.counted + 1 >= MAX_ATTEMPTS {
            let error = format!("{reason}; tried {} times", flight.counted + 1);
            return self.tool_answered(effect, flight, &ToolOutcome::refused(error), now);
        }
        let at = Some(now.plus_ms(self.backoff(effect, flight)));
        let retry = Retry { at, counted: true, error: Some(reason), tool_state: None };
        self.finish(effect, flight.attempt, FinishedAs::Transient, Settled::default(), retry, now);
    }

    /// A tool that is no longer known counts as once-only.
    pub(super) fn is_once(&self, tool: &str) -> bool {
        self.shared.external_tool(tool).is_none_or(|tool| tool.class == RepeatSafety::Once)
    }

    pub(super) fn unknown(&mut self, effect: &EffectId, flight: &CallInFlight, reason: String, now: Timestamp) {
        let what = flight.what.clone();
        let text = format!(
            "Did {what} happen? {reason}, and it is not called again by itself. It was called with {}. Look, then \
             answer happened, did_not or retry.",
            self.called_with(effect)
        );
        let fact = Unknown { effect: effect.clone(), attempt: flight.attempt, what, reason: Some(reason) };
        self.emit_at(self.rules().node_ref(effect), fact, Actor::Platform, now);
        let options = Decision::ALL.map(|decision| decision.name().to_owned()).to_vec();
        self.ask(effect, text, options, "the outcome of a tool is unknown", now);
    }

    /// The whole arguments: a person who decides whether the call happened must see all of it.
    fn called_with(&self, effect: &EffectId) -> String {
        self.tool_call(effect).map(|call| call.arguments.to_string()).unwrap_or_default()
    }

    fn ask(&mut self, effect: &EffectId, text: String, options: Vec<String>, why: &str, now: Timestamp) {
        let node_ref = self.rules().node_ref(effect);
        let mut facts = self.facts(now);
        let question_id = facts.new_id();
        let (node_id, effect_id) = (node_ref.node, Some(effect.clone()));
        let (deadline_at, default) = (None, None);
        let asked = QuestionAsked { question_id, node_id, text, options, deadline_at, default, effect: effect_id };
        facts.push_at(node_ref, asked);
        self.rules().call_waits_for_person(effect, why, &mut facts);
        self.record(facts, Actor::Platform);
    }

    /// The call of unknown outcome that this question is about.
    pub(super) fn unknown_behind(&self, question: QuestionId) -> Option<EffectId> {
        let mut unknown = self.shared.effects.iter().filter(|(_, state)| matches!(state, EffectState::Unknown { .. }));
        unknown.find(|(_, state)| state.question() == Some(question)).map(|(effect, _)| effect.clone())
    }

    /// The id recorded as the author of an answer.
    pub(super) fn by(&self, actor: Actor) -> ActorId {
        match actor {
            Actor::Person(id) | Actor::Subagent(id) => id,
            Actor::Platform => self.shared.brief.owner,
        }
    }

    pub(super) fn resolve(
        &mut self,
        effect: EffectId,
        decision: Decision,
        note: Option<String>,
        actor: Actor,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let Some(state @ EffectState::Unknown { .. }) = self.shared.effects.get(&effect) else {
            let why = format!("run {} has no effect {effect} whose outcome is unknown", self.shared.id);
            return refuse("effect_not_found", why);
        };
        let question = state.question();
        let outcome = decided(decision, note.as_deref());
        self.emit(Resolved { effect: effect.clone(), decision, note }, actor, now);
        if let Some(question_id) = question {
            let by = self.by(actor);
            self.emit(Answered { question_id, text: decision.name().into(), by }, actor, now);
        }
        self.resume_if_answered(crate::facts::run::ResumeReason::Answered, now);
        if let Some(outcome) = outcome.filter(|_| !self.shared.status().is_terminal()) {
            self.decide(Input::Tool { effect: &effect, outcome: &outcome }, now);
        }
        self.proceed(now);
        Ok(())
    }

    /// An equal once-only call waits until it is known whether the first one happened.
    pub(super) fn repeats_an_unknown(&self, effect: &EffectId) -> bool {
        let mut unknown = self.shared.effects.iter().filter(|(_, state)| matches!(state, EffectState::Unknown { .. }));
        let Some(first) = unknown.next() else { return false };
        let Some(call) = self.tool_call(effect).filter(|call| self.is_once(&call.tool)) else { return false };
        std::iter::once(first).chain(unknown).any(|(other, _)| {
            other != effect
                && self
                    .tool_call(other)
                    .is_some_and(|other| (&other.tool, &other.arguments) == (&call.tool, &call.arguments))
        })
    }

    fn tool_call(&self, effect: &EffectId) -> Option<ToolCall> {
        match self.rules().work(&self.shared, effect)? {
            Work::Tool(call) => Some(call),
            Work::Model(_) | Work::Check(_) => None,
        }
    }

    /// Sets the run waiting when only a person can move its calls on and nothing else is left to do.
    pub(super) fn wait_for_people(&mut self, now: Timestamp) {
        let effects = &self.shared.effects;
        let waits = self.shared.status() == Status::Running && effects.values().any(EffectState::awaits_a_person);
        let is_out = |state: &EffectState| matches!(state, EffectState::InFlight(_));
        let goes_on = |effect: &EffectId, state: &EffectState| !state.awaits_a_person() && self.want(effect).is_some();
        if !waits || effects.iter().any(|(effect, state)| is_out(state) || goes_on(effect, state)) {
            return;
        }
        let due = self.due(now);
        if due.inline.is_empty() && due.external.is_empty() {
            let question_ids = self.shared.open_questions().map(|question| question.id).collect();
            self.emit(WaitingOnUser { question_ids }, Actor::Platform, now);
        }
    }
}

/// The result the model is shown after a decision; `None` when the call is made again.
fn decided(decision: Decision, note: Option<&str>) -> Option<ToolOutcome> {
    let note = note.map(|note| format!(": {note}")).unwrap_or_default();
    match decision {
        Decision::Happened => {
            let summary = format!("it happened, as a person found{note}");
            let content = json!({ "outcome": "happened", "result": "not seen", "note": &summary });
            Some(ToolOutcome { result: Ok(ToolOutput { content, summary, read: false }), mutations: Vec::new() })
        }
        Decision::DidNot => Some(ToolOutcome::refused(format!(
            "it did not happen, as a person found{note}; call it again if it is still needed"
        ))),
        Decision::Retry => None,
    }
}
