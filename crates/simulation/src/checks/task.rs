//! 47: a task takes its steps one by one and no more than its limit, and reflects once before every end at which its agent
//! can be asked.

use super::RunLog;
use engine::facts::task::StepAction;
use engine::facts::{EffectFact, Fact, RunFact as R, TaskFact as T, run::ResumeReason};
use engine::model::Role;

pub fn check(log: &RunLog<'_>) {
    let (mut next, mut acted, mut limit) = (0, 0, 0);
    let mut reflection = Reflection::default();
    for event in &log.events {
        match &event.fact {
            Fact::Task(T::Started(fact)) => limit = fact.max_steps,
            Fact::Task(T::Step(fact)) => {
                if fact.step != next || reflection.over {
                    log.violation_at(event, "47: took a step out of order");
                }
                next += 1;
                acted += u32::from(fact.step > 0 && matches!(fact.action, StepAction::Navigate | StepAction::Execute));
                if acted > limit {
                    log.violation_at(event, "47: took more steps than it may");
                }
            }
            Fact::Task(T::Ended(_)) => reflection.over = true,
            Fact::Effect(EffectFact::Started(fact)) if fact.what == Role::AgentReflection.name() => {
                reflection.calls.insert(fact.effect.0.clone());
            }
            Fact::Task(T::Reflected(fact)) if fact.scratchpad.is_none() => reflection.settled += 1,
            Fact::Task(T::ScratchpadUpdated(_) | T::ScratchpadUpdateFailed(_)) => reflection.settled += 1,
            Fact::Run(R::Completed(_) | R::Stopped(_) | R::Failed(_) | R::Canceled(_)) => {
                if reflection.calls.len() > 1 {
                    log.violation_at(event, "47: was asked to look back more than once");
                }
                if reflection.over && reflection.settled != 1 {
                    log.violation_at(event, "47: ended without having looked back once");
                }
            }
            Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::Continued => {
                (reflection, acted) = (Reflection::default(), 0);
            }
            _ => {}
        }
    }
}

/// What happened since the task began or was continued.
#[derive(Default)]
struct Reflection {
    over: bool,
    calls: std::collections::BTreeSet<String>,
    settled: u32,
}
