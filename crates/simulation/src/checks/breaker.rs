//! 43: iterations stay within their limit, and the no-progress breaker stops the run exactly where it should.

use super::RunLog;
use engine::facts::homework::{IterationCompleted, Verdict};
use engine::facts::{Fact, HomeworkFact as H, RunFact as R, run::ResumeReason};
use engine::run::StopReason;

#[derive(Default)]
struct Streaks {
    without_progress: u32,
    repeats: u32,
    last_actions: Vec<String>,
    /// The actions of this iteration's planner. An iteration without any is not compared and resets nothing.
    actions: Option<Vec<String>>,
    /// The set that repeated without progress: it counts whenever it comes again.
    barred: Option<Vec<String>>,
    asks: bool,
}

impl Streaks {
    fn forgive(&mut self) {
        (self.repeats, self.without_progress, self.barred) = (0, 0, None);
    }

    fn close(&mut self, fact: &IterationCompleted) {
        let made = fact.progress.made;
        let actions = self.actions.take();
        let is_known = |now: &&Vec<String>| **now == self.last_actions || self.barred.as_ref() == Some(*now);
        let again = !made && actions.as_ref().filter(|now| !now.is_empty()).is_some_and(|now| is_known(&now));
        self.repeats = if made { 0 } else { self.repeats + u32::from(again) };
        if made {
            self.barred = None;
        } else if again {
            self.barred = actions.clone();
        }
        self.without_progress = match (made, self.asks) {
            (true, _) => 0,
            (false, true) => self.without_progress,
            (false, false) => self.without_progress + 1,
        };
        if let Some(actions) = actions {
            self.last_actions = actions;
        }
    }
}

pub fn check(log: &RunLog<'_>) {
    let mut streaks = Streaks::default();
    let mut limits = None;
    for event in &log.events {
        match &event.fact {
            Fact::Run(R::Queued(fact)) => limits = Some(fact.budgets.clone()),
            Fact::Run(R::BudgetChanged(fact)) => limits = Some(fact.budgets.clone()),
            Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::Continued => streaks.forgive(),
            Fact::Homework(H::Planned(fact)) => {
                (streaks.actions, streaks.asks) = (Some(fact.actions.clone()), fact.needs_user_input)
            }
            Fact::Homework(H::IterationStarted(fact)) => {
                streaks.asks = false;
                if limits.as_ref().is_some_and(|limits| fact.iteration > limits.max_iterations) && !lowered(log) {
                    log.violation_at(event, format_args!("43: iteration {} began", fact.iteration));
                }
            }
            Fact::Homework(H::IterationCompleted(fact)) => {
                streaks.close(fact);
                let Some(limits) = &limits else { continue };
                let over =
                    streaks.without_progress >= limits.no_progress_limit || streaks.repeats >= limits.repeat_limit;
                let stopped = matches!(fact.verdict, Verdict::Stop { reason: StopReason::NoProgress, .. });
                // What ends the run for another reason is judged before, or was not judged at all.
                let ends = |reason: StopReason| {
                    reason.breaks_off() || matches!(reason, StopReason::Completed | StopReason::CannotBeDone)
                };
                let excused = streaks.asks || matches!(fact.verdict, Verdict::Stop { reason, .. } if ends(reason));
                if stopped != (over && !excused) {
                    let Streaks { without_progress, repeats, .. } = streaks;
                    let why = format!("43: {without_progress} without progress, {repeats} repeats, {:?}", fact.verdict);
                    log.violation_at(event, why);
                }
            }
            _ => {}
        }
    }
}

/// Whether the limit was changed, so that a run may be past it.
fn lowered(log: &RunLog<'_>) -> bool {
    log.events.iter().any(|event| matches!(event.fact, Fact::Run(R::BudgetChanged(_))))
}
