//! 47: an errand takes its steps one by one and no more than it may, and looks back once before every end that its agent
//! could be asked at.

use super::Story;
use engine::facts::task::StepAction;
use engine::facts::{Effect, Fact, Run as R, Task as T, run::ResumeReason};
use engine::model::Role;

pub fn check(story: &Story, wrongs: &mut Vec<String>) {
    let mut wrong = |seq: u64, what: &str| wrongs.push(format!("47: run {} {what} (event {seq})", story.id));
    let (mut next, mut acted, mut limit) = (0, 0, 0);
    let mut looked = Looked::default();
    for event in &story.events {
        match &event.fact {
            Fact::Task(T::Started(fact)) => limit = fact.max_steps,
            Fact::Task(T::Step(fact)) => {
                if fact.step != next || looked.over {
                    wrong(event.seq, "took a step out of order");
                }
                next += 1;
                acted += u32::from(fact.step > 0 && matches!(fact.action, StepAction::Navigate | StepAction::Execute));
                if acted > limit {
                    wrong(event.seq, "took more steps than it may");
                }
            }
            Fact::Task(T::Ended(_)) => looked.over = true,
            Fact::Effect(Effect::Started(fact)) if fact.what == Role::AgentReflection.name() => {
                looked.calls.insert(fact.effect.0.clone());
            }
            Fact::Task(T::Reflected(fact)) if fact.scratchpad.is_none() => looked.settled += 1,
            Fact::Task(T::ScratchpadUpdated(_) | T::ScratchpadUpdateFailed(_)) => looked.settled += 1,
            Fact::Run(R::Completed(_) | R::Stopped(_) | R::Failed(_) | R::Canceled(_)) => {
                if looked.calls.len() > 1 {
                    wrong(event.seq, "was asked to look back more than once");
                }
                if looked.over && looked.settled != 1 {
                    wrong(event.seq, "ended without having looked back once");
                }
            }
            Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::Continued => {
                (looked, acted) = (Looked::default(), 0);
            }
            _ => {}
        }
    }
}

/// What happened since the errand began, or was continued.
#[derive(Default)]
struct Looked {
    over: bool,
    calls: std::collections::BTreeSet<String>,
    settled: u32,
}
