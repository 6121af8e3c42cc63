//! Decides what follows from a step, an answer or a command.

use super::answer::{ReflectionAnswer, StepAnswer};
use super::state::State;
use super::{MAX_SCRATCHPAD_CHARS, allowed_steps};
use crate::answer;
use crate::blob::BlobRef;
use crate::calls;
use crate::effect::{EffectId, ModelReply, ToolOutcome};
use crate::facts::task as fact;
use crate::facts::task::{StepAction, TaskEnding};
use crate::run::{Facts, Shared, StopReason};
use serde_json::Value;

/// In characters: the preview of a new scratchpad in its event.
const PREVIEW_CHARS: usize = 100;

impl State {
    pub(super) fn start(&self, shared: &Shared, facts: &mut Facts) {
        let Some(agent) = &shared.brief.agent else { return };
        let max_steps = allowed_steps(agent.max_steps);
        facts.push(fact::Started { agent_id: agent.id, handle: agent.handle.clone(), max_steps });
        facts.push(fact::Step {
            step: 0,
            action: StepAction::Navigate,
            path: Some("/whoami".into()),
            action_name: None,
            params: Value::Null,
            message: None,
            thought: None,
        });
    }

    pub(super) fn step_answered(
        &self,
        effect: &EffectId,
        fix: bool,
        reply: &ModelReply,
        response: BlobRef,
        facts: &mut Facts,
    ) {
        match answer::read::<StepAnswer>(reply) {
            Ok(answer) => self.take(answer, facts),
            Err(errors) if !fix => facts.push(fact::AnswerRejected { effect: effect.clone(), errors, response }),
            Err(errors) => {
                let message = format!("its answers did not fit the schema: {}", errors.join("; "));
                self.end(TaskEnding::Exception, StopReason::Error, message, facts);
            }
        }
    }

    fn take(&self, answer: StepAnswer, facts: &mut Facts) {
        let StepAnswer { action, path, action_name, params, message, thought } = answer;
        let path = if action == StepAction::Execute { path.or_else(|| Some(self.page.clone())) } else { path };
        let said = message.clone();
        facts.push(fact::Step { step: self.next_step(), action, path, action_name, params, message, thought });
        match action {
            StepAction::Navigate | StepAction::Execute => {}
            StepAction::Done => {
                let message = said.unwrap_or_else(|| "Task completed".into());
                self.end(TaskEnding::Done, StopReason::Completed, message, facts);
            }
            StepAction::Error => {
                let message = said.unwrap_or_else(|| "the agent gave up without a reason".into());
                self.end(TaskEnding::Error, StopReason::Error, message, facts);
            }
        }
    }

    pub(super) fn step_performed(&self, outcome: &ToolOutcome, facts: &mut Facts) {
        let Some(taken) = self.open_step() else { return };
        let calls::CallRecord { ok, summary, result, artifacts, .. } = calls::record(outcome, None, facts);
        facts.push(fact::StepResult { step: taken.step, ok, summary, result, artifacts });
        if self.acted >= self.max_steps {
            let message = format!("Reached maximum steps ({}) without completing the task", self.max_steps);
            self.end(TaskEnding::MaxSteps, StopReason::MaxSteps, message, facts);
        }
    }

    /// The call for the next step failed for good, or a limit left no room for it.
    pub(super) fn step_call_failed(&self, shared: &Shared, error: &str, facts: &mut Facts) {
        let (ending, reason) = match shared.exhausted {
            Some(limit) => (TaskEnding::Budget, limit.into()),
            None => (TaskEnding::Exception, StopReason::Error),
        };
        self.end(ending, reason, error.to_owned(), facts);
    }

    pub(super) fn end(&self, ending: TaskEnding, stop_reason: StopReason, message: String, facts: &mut Facts) {
        facts.push(fact::Ended { ending, stop_reason, message });
    }

    pub(super) fn scratchpad_read(&self, shared: &Shared, outcome: &ToolOutcome, facts: &mut Facts) {
        match &outcome.result {
            Ok(output) => {
                let version = output.content["version"].as_i64().unwrap_or(0);
                let content = facts.store_text(output.content["content"].to_string());
                facts.push(fact::ScratchpadRead { version, content });
            }
            Err(error) => self.reflection_failed(shared, error, facts),
        }
    }

    pub(super) fn reflection_answered(&self, shared: &Shared, reply: &ModelReply, facts: &mut Facts) {
        match answer::read::<ReflectionAnswer>(reply) {
            Ok(ReflectionAnswer { scratchpad }) => match scratchpad.filter(|text| !text.is_empty()) {
                Some(text) => {
                    let written = text.chars().count();
                    let scratchpad = text.chars().take(MAX_SCRATCHPAD_CHARS).collect();
                    let cut_from = (written > MAX_SCRATCHPAD_CHARS).then_some(written as u32);
                    facts.push(fact::Reflected { scratchpad: Some(scratchpad), cut_from });
                }
                None => {
                    facts.push(fact::Reflected { scratchpad: None, cut_from: None });
                    self.finish(shared, facts);
                }
            },
            Err(errors) => self.reflection_failed(shared, &errors.join("; "), facts),
        }
    }

    /// The new version commits with this fact; if the scratchpad changed meanwhile, it is left alone.
    pub(super) fn scratchpad_written(&self, shared: &Shared, outcome: &ToolOutcome, facts: &mut Facts) {
        let Some(new) = &self.new_scratchpad else { return };
        match &outcome.result {
            Ok(output) => {
                outcome.mutations.iter().for_each(|mutation| facts.mutate(mutation.clone()));
                facts.push(fact::ScratchpadUpdated {
                    version: output.content["version"].as_i64().unwrap_or(0),
                    characters: new.text.chars().count() as u32,
                    preview: new.text.chars().take(PREVIEW_CHARS).collect(),
                    cut_from: new.cut_from,
                });
                self.finish(shared, facts);
            }
            Err(error) => self.reflection_failed(shared, error, facts),
        }
    }

    pub(super) fn reflection_failed(&self, shared: &Shared, error: &str, facts: &mut Facts) {
        facts.push(fact::ScratchpadUpdateFailed { error: error.to_owned() });
        self.finish(shared, facts);
    }
}
