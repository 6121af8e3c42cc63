//! The fold of task facts: each arm records what its fact says happened.

use super::state::{Closing, NewScratchpad, Phase, State, Step, StepOutcome};
use crate::calls::RejectedAnswer;
use crate::event::Event;
use crate::facts::task::StepAction;
use crate::facts::{RunFact, TaskFact, run::ResumeReason};

impl State {
    pub(super) fn record_shared(&mut self, fact: &RunFact) {
        match fact {
            RunFact::Completed(_) | RunFact::Stopped(_) | RunFact::Failed(_) | RunFact::Canceled(_) => {
                self.phase = Phase::Ended
            }
            RunFact::CheckStarted(_) if self.phase != Phase::Ended => self.phase = Phase::Checking,
            RunFact::Resumed(resumed) if resumed.reason == ResumeReason::Continued => self.go_on(),
            _ => {}
        }
    }

    /// A continued task gets its full number of steps again, and another reflection at the end.
    fn go_on(&mut self) {
        self.acted = 0;
        self.rejected = None;
        self.closing = None;
        self.pad = None;
        self.new_scratchpad = None;
        self.phase = match (self.tag.is_empty(), self.open_step().is_some()) {
            (true, _) => Phase::NotStarted,
            (false, true) => Phase::PerformingStep,
            (false, false) => Phase::ChoosingStep,
        };
    }

    pub(super) fn record_own(&mut self, fact: &TaskFact, event: &Event) {
        match fact {
            TaskFact::Started(fact) => {
                self.tag = event.run_id.tag();
                self.max_steps = fact.max_steps;
            }
            TaskFact::Step(fact) => {
                self.rejected = None;
                if matches!(fact.action, StepAction::Navigate | StepAction::Execute) {
                    self.acted += u32::from(fact.step > 0);
                    self.phase = Phase::PerformingStep;
                }
                self.steps.push(Step {
                    step: fact.step,
                    action: fact.action,
                    path: fact.path.clone(),
                    action_name: fact.action_name.clone(),
                    params: fact.params.clone(),
                    message: fact.message.clone(),
                    thought: fact.thought.clone(),
                    result: None,
                    seq: event.seq,
                    at: event.at,
                });
            }
            TaskFact::StepResult(fact) => {
                self.made.extend(&fact.artifacts);
                if let Some(taken) = self.steps.last_mut().filter(|taken| taken.step == fact.step) {
                    taken.result = Some(StepOutcome {
                        ok: fact.ok,
                        summary: fact.summary.clone(),
                        content: fact.result,
                        artifacts: fact.artifacts.clone(),
                        at: event.at,
                    });
                    if let (true, StepAction::Navigate, Some(path)) = (fact.ok, taken.action, &taken.path) {
                        self.page = path.clone();
                    }
                }
                self.phase = Phase::ChoosingStep;
            }
            TaskFact::AnswerRejected(fact) => {
                self.rejected = Some(RejectedAnswer { errors: fact.errors.clone(), response: fact.response });
            }
            TaskFact::Ended(fact) => {
                self.phase = Phase::ReadingScratchpad;
                self.closing =
                    Some(Closing { ending: fact.ending, stop_reason: fact.stop_reason, message: fact.message.clone() });
            }
            TaskFact::ScratchpadRead(fact) => {
                self.pad = Some((fact.version, fact.content));
                self.phase = Phase::Reflecting;
            }
            TaskFact::Reflected(fact) => {
                let new = |text: &String| NewScratchpad { text: text.clone(), cut_from: fact.cut_from };
                self.new_scratchpad = fact.scratchpad.as_ref().map(new);
                self.phase = Phase::WritingScratchpad;
            }
            TaskFact::ScratchpadUpdated(_) | TaskFact::ScratchpadUpdateFailed(_) => {}
        }
    }
}
