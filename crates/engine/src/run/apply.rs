//! The fold of the shared facts. Every arm is the transition its fact's doc states.

use super::effect_state::EffectState;
use super::shared::{ClosedBy, Question, Shared, UserMessage};
use super::terms::{Status, StopReason};
use crate::actor::Actor;
use crate::event::Event;
use crate::facts::{self, Fact};
use crate::model::Role;
use crate::time::Timestamp;

/// The most messages remembered for prompts; unread ones are never dropped.
const MAX_MESSAGES: usize = 20;
const MAX_QUESTIONS: usize = 200;

impl Shared {
    pub(crate) fn apply(&mut self, event: &Event) {
        self.tick(event);
        match &event.fact {
            Fact::Run(fact) => {
                self.apply_run(fact, event);
                self.apply_to_criteria(fact);
            }
            Fact::Effect(fact) => self.apply_effect(fact, event),
            Fact::Homework(facts::HomeworkFact::RunStarted(_))
            | Fact::Tree(facts::TreeFact::RunStarted(_))
            | Fact::Task(facts::TaskFact::Started(_)) => {
                self.unpaused_status = Status::Running;
                self.started_at = Some(event.at);
            }
            // A call that was over a limit was never made.
            Fact::Homework(facts::HomeworkFact::ToolCallResult(fact)) if fact.not_run => {}
            Fact::Homework(facts::HomeworkFact::ToolCallResult(_))
            | Fact::Tree(facts::TreeFact::ToolCallResult(_))
            | Fact::Task(facts::TaskFact::StepResult(_)) => self.metrics.tool_calls += 1,
            Fact::Homework(facts::HomeworkFact::IterationCompleted(fact)) => {
                self.metrics.no_progress_streak = fact.metrics.no_progress_streak;
            }
            Fact::Homework(_) | Fact::Tree(_) | Fact::Task(_) | Fact::Unrecognized(_) => {}
        }
        self.updated_at = event.at;
        self.last_seq = event.seq;
        self.head = event.hash;
    }

    /// Counts the working time since the last event; a takeover's event says when the old driver was last active.
    fn tick(&mut self, event: &Event) {
        // A command, and the events it causes at the same moment, do not prove that a driver worked until now.
        if event.actor != Actor::Platform {
            self.last_command_at = Some(event.at);
        }
        if self.is_working() {
            let until = match &event.fact {
                Fact::Run(facts::RunFact::Recovered(fact)) => fact.active_until.min(event.at),
                fact if self.last_command_at == Some(event.at) && !stops_work(fact) => return,
                _ => event.at,
            };
            self.metrics.running_ms += until.since(self.counted_until);
        }
        self.counted_until = event.at;
    }

    fn apply_run(&mut self, fact: &facts::RunFact, event: &Event) {
        use facts::RunFact;
        match fact {
            RunFact::Queued(_)
            | RunFact::Recovered(_)
            | RunFact::CheckStarted(_)
            | RunFact::EvidenceRead(_)
            | RunFact::CheckRejected(_)
            | RunFact::VerdictsGiven(_)
            | RunFact::CriterionChecked(_)
            | RunFact::CriterionDecided(_) => {}
            RunFact::Paused(fact) => {
                self.paused = true;
                self.paused_by_branches = fact.branches;
            }
            RunFact::Resumed(fact) => self.resume(fact.reason, event.at),
            RunFact::QuestionAsked(asked) => {
                self.questions.push(Question {
                    id: asked.question_id,
                    node_id: asked.node_id,
                    text: asked.text.clone(),
                    options: asked.options.clone(),
                    deadline_at: asked.deadline_at,
                    default: asked.default.clone(),
                    answer: None,
                    closed: None,
                    asked_at: event.at,
                    answered_at: None,
                });
                self.bind(asked);
                if self.questions.len() > MAX_QUESTIONS
                    && let Some(old) = self.questions.iter().position(|question| question.answer.is_some())
                {
                    self.questions.remove(old);
                }
            }
            RunFact::Answered(fact) => self.answer(fact.question_id, fact.text.clone(), None, event),
            RunFact::QuestionExpired(fact) => {
                let (closed, words) = ClosedBy::by(fact);
                self.answer(fact.question_id, words, Some(closed), event);
            }
            RunFact::WaitingOnUser(_) => {
                self.unpaused_status = Status::WaitingOnUser;
                self.stop_reason = Some(StopReason::UserInput);
            }
            RunFact::MessageQueued(fact) => self.queue(UserMessage {
                id: fact.message_id,
                text: fact.text.clone(),
                node_id: fact.node_id,
                lane: fact.lane,
                delivered: false,
            }),
            RunFact::MessageDelivered(fact) => {
                if let Some(message) = self.messages.iter_mut().find(|message| message.id == fact.message_id) {
                    message.delivered = true;
                }
            }
            RunFact::BudgetChanged(fact) => {
                self.budgets = fact.budgets.clone();
                self.exhausted = None;
                self.warned.clear();
            }
            RunFact::BudgetWarning(fact) => self.warned.push(fact.budget.clone()),
            RunFact::ProviderWaiting(fact) => self.provider_wait = Some(fact.clone()),
            RunFact::Completed(fact) => self.end(StopReason::Completed, fact.detail.clone(), &fact.ended, event),
            RunFact::Stopped(fact) => self.end(fact.stop_reason, Some(fact.detail.clone()), &fact.ended, event),
            RunFact::Failed(fact) => self.end(fact.stop_reason, Some(fact.error.clone()), &fact.ended, event),
            RunFact::Canceled(fact) => self.end(StopReason::Canceled, fact.detail.clone(), &fact.ended, event),
            RunFact::ReportCreated(fact) => self.report = Some(fact.report.clone()),
        }
    }

    fn resume(&mut self, reason: facts::run::ResumeReason, at: Timestamp) {
        use facts::run::ResumeReason;
        if self.unpaused_status.is_terminal() {
            self.generation += 1;
        }
        match reason {
            ResumeReason::Unpaused => {
                self.paused = false;
                self.paused_by_branches = false;
            }
            ResumeReason::TryNow => self.try_now(at),
            ResumeReason::Answered
            | ResumeReason::Expired
            | ResumeReason::Withdrawn
            | ResumeReason::Continued
            | ResumeReason::Retry => {
                if reason == ResumeReason::Continued {
                    self.metrics.no_progress_streak = 0;
                }
                self.unpaused_status = if self.started_at.is_some() { Status::Running } else { Status::Queued };
                self.stop_reason = None;
                self.stop_detail = None;
                self.exhausted = None;
                self.ended_at = None;
            }
        }
    }

    /// Ends every wait for another attempt.
    fn try_now(&mut self, at: Timestamp) {
        self.provider_wait = None;
        self.probe_wanted = true;
        for state in self.effects.values_mut() {
            if let EffectState::BackingOff { until, .. } = state {
                *until = at.min(*until);
            }
        }
    }

    fn answer(&mut self, id: crate::ids::QuestionId, text: String, closed: Option<ClosedBy>, event: &Event) {
        if let Some(question) = self.questions.iter_mut().find(|question| question.id == id) {
            question.answer = Some(text.clone());
            question.closed = closed;
            question.answered_at = Some(event.at);
            for state in self.effects.values_mut() {
                if let EffectState::Asking { question: Some(of), answer, .. } = state
                    && *of == id
                {
                    *answer = Some(text.clone());
                }
            }
        }
    }

    /// The call a question belongs to waits for its answer.
    fn bind(&mut self, asked: &facts::run::QuestionAsked) {
        let waiting = asked.effect.as_ref().and_then(|effect| self.effects.get_mut(effect));
        if let Some(EffectState::Unknown { question, .. } | EffectState::Asking { question, .. }) = waiting {
            *question = Some(asked.question_id);
        }
    }

    fn queue(&mut self, message: UserMessage) {
        self.messages.push(message);
        if self.messages.len() > MAX_MESSAGES
            && let Some(old) = self.messages.iter().position(|message| message.delivered)
        {
            self.messages.remove(old);
            self.older_messages += 1;
        }
    }

    fn end(&mut self, reason: StopReason, detail: Option<String>, ended: &facts::run::Ended, event: &Event) {
        self.check = None;
        self.criteria.iter_mut().for_each(|criterion| criterion.checking = false);
        self.end_state = ended.end_state;
        self.unpaused_status = reason.status();
        self.paused = false;
        self.paused_by_branches = false;
        self.stop_reason = Some(reason);
        self.stop_detail = detail;
        self.ended_at = Some(event.at);
        self.provider_wait = None;
    }

    fn apply_effect(&mut self, fact: &facts::EffectFact, event: &Event) {
        match fact {
            facts::EffectFact::Started(started) => {
                self.ledger.reserve(started.reserve);
                self.provider_wait = None;
                self.probe_wanted = false;
                let counted = self.effects.get(&started.effect).map_or(0, EffectState::counted);
                self.effects.insert(started.effect.clone(), EffectState::in_flight(started, counted, event.at));
            }
            facts::EffectFact::Finished(finished) => self.finish(finished),
            facts::EffectFact::Unknown(unknown) => {
                if let Some(EffectState::InFlight(flight)) = self.effects.get(&unknown.effect).cloned() {
                    self.ledger.settle(flight.reserve, &crate::budget::Settled::presumed(flight.reserve));
                    self.effects.insert(
                        unknown.effect.clone(),
                        EffectState::Unknown { attempt: unknown.attempt, what: unknown.what.clone(), question: None },
                    );
                }
            }
            facts::EffectFact::Resolved(resolved) => {
                if let Some(state) = self.effects.remove(&resolved.effect) {
                    self.gave_up.insert(resolved.effect.clone(), state.attempt());
                }
            }
        }
    }

    fn finish(&mut self, finished: &facts::effect::Finished) {
        use facts::effect::FinishedAs;
        if finished.exhausted.is_some() {
            self.exhausted = finished.exhausted;
        }
        let flight = match self.effects.get(&finished.effect) {
            Some(EffectState::InFlight(flight)) if flight.attempt == finished.attempt => flight.clone(),
            _ => {
                if finished.outcome == FinishedAs::Canceled {
                    self.effects.remove(&finished.effect);
                }
                return;
            }
        };
        self.ledger.settle(flight.reserve, &finished.settled);
        match &flight.model {
            Some(model) => {
                let answered = finished.outcome == FinishedAs::Ok;
                self.metrics.charge(model, &finished.settled, answered);
                match flight.role() {
                    Some(Role::Verifier) => self.metrics.verifier.charge(&finished.settled, answered),
                    Some(Role::HomeworkReport | Role::AgentReflection) => {
                        self.metrics.wrap_up.charge(&finished.settled, answered)
                    }
                    _ => {}
                }
            }
            // An error text comes from outside too.
            None => self.tainted |= matches!(finished.outcome, FinishedAs::Ok | FinishedAs::Failed),
        }
        match finished.outcome {
            FinishedAs::Transient | FinishedAs::Lost => {
                let counted = flight.counted + u32::from(finished.counted);
                let until = finished.retry_at.unwrap_or_default();
                self.effects.insert(
                    finished.effect.clone(),
                    EffectState::BackingOff { attempt: flight.attempt, counted, until, model: flight.model },
                );
            }
            FinishedAs::Asked => {
                let tool_state = finished.tool_state.clone().unwrap_or_default();
                let asking = EffectState::Asking { attempt: flight.attempt, question: None, tool_state, answer: None };
                self.effects.insert(finished.effect.clone(), asking);
            }
            FinishedAs::Failed | FinishedAs::Canceled => {
                self.effects.remove(&finished.effect);
                self.gave_up.insert(finished.effect.clone(), flight.attempt);
            }
            FinishedAs::Ok | FinishedAs::Refused => {
                self.effects.remove(&finished.effect);
            }
        }
    }
}

/// Whether the run stops working with this fact, so that working time before it must be counted now.
fn stops_work(fact: &Fact) -> bool {
    use facts::RunFact;
    matches!(
        fact,
        Fact::Run(
            RunFact::Paused(_)
                | RunFact::WaitingOnUser(_)
                | RunFact::Completed(_)
                | RunFact::Stopped(_)
                | RunFact::Failed(_)
                | RunFact::Canceled(_)
        )
    )
}
