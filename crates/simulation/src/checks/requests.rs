//! 40, 41: attempts are limited, backoff and Retry-After are respected, and an unusable answer is never acted upon.

use super::RunLog;
use crate::clock::VirtualClock;
use crate::world::provider::{Ended, Request};
use engine::event::Event;
use engine::facts::effect::FinishedAs;
use engine::facts::evidence::CriterionState;
use engine::facts::run::ResumeReason;
use engine::facts::task::TaskEnding;
use engine::facts::{EffectFact, Fact, HomeworkFact as H, RunFact as R, TaskFact as K, TreeFact as T};
use engine::model::Role;
use engine::run::Kind;
use engine::time::Timestamp;
use std::collections::BTreeMap;

const MAX_ATTEMPTS: u32 = 6;

pub fn check(log: &RunLog<'_>) {
    attempts(log);
    retry_after(log);
    spoiled(log);
}

fn attempts(log: &RunLog<'_>) {
    let mut counted: BTreeMap<&str, u32> = BTreeMap::new();
    let mut not_before: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for event in &log.events {
        match &event.fact {
            Fact::Effect(EffectFact::Finished(fact)) => {
                let tries = counted.entry(&fact.effect.0).or_default();
                *tries += u32::from(fact.counted);
                if *tries > MAX_ATTEMPTS {
                    log.violation_at(event, format_args!("40: {} was tried {tries} times", fact.effect));
                }
                if fact.outcome == FinishedAs::Failed {
                    *tries = 0;
                }
                not_before.insert(&fact.effect.0, fact.retry_at.unwrap_or_default());
            }
            // A person asked to try now.
            Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::TryNow => not_before.clear(),
            Fact::Effect(EffectFact::Started(fact))
                if not_before.get(fact.effect.0.as_str()).is_some_and(|at| event.at < *at) =>
            {
                log.violation_at(event, format_args!("40: {} was tried again too early", fact.effect));
            }
            _ => {}
        }
    }
}

/// By the times on the provider's bill.
fn retry_after(log: &RunLog<'_>) {
    for (index, request) in log.bill.iter().enumerate() {
        let (Ended::Failed(error), Some(end)) = (&request.ended, request.end_ms) else { continue };
        let Some(wait) = error.retry_after_ms else { continue };
        // A stalled process may still send an earlier attempt, because it does not know of this one.
        let later = |next: &&&Request| next.effect == request.effect && next.attempt > request.attempt;
        let next = log.bill[index + 1..].iter().filter(later).find(|next| next.at_ms >= end);
        let early = next.filter(|next| next.at_ms < end + wait as u64);
        if early.is_some_and(|next| !is_shortened(log, end, next.at_ms)) && is_recorded(log, request) {
            log.violation(format_args!("40: {request} was asked again before the provider's Retry-After"));
        }
    }
}

/// Whether a person asked to try now in between.
fn is_shortened(log: &RunLog<'_>, from_ms: u64, to_ms: u64) -> bool {
    log.events.iter().any(|event| {
        let at = VirtualClock::since_beginning(event.at);
        let tries_now = matches!(&event.fact, Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::TryNow);
        // A run's own time may be a millisecond behind virtual time.
        tries_now && at <= to_ms && at + 1 >= from_ms
    })
}

/// Whether the failure is in the log. If its process died first, no later driver could know how long to wait.
fn is_recorded(log: &RunLog<'_>, request: &Request) -> bool {
    log.events.iter().any(|event| finishes(event, request, FinishedAs::Transient))
}

fn finishes(event: &Event, request: &Request, outcome: FinishedAs) -> bool {
    let Fact::Effect(EffectFact::Finished(fact)) = &event.fact else { return false };
    (fact.effect.0.as_str(), fact.attempt) == request.key() && fact.outcome == outcome
}

fn spoiled(log: &RunLog<'_>) {
    for request in log.bill.iter().filter(|request| matches!(request.ended, Ended::Answered { usable: false, .. })) {
        let arrived = log.events.iter().position(|event| finishes(event, request, FinishedAs::Ok));
        let Some(at) = arrived else { continue };
        let warning = |event: &&Event| matches!(event.fact, Fact::Run(R::BudgetWarning(_)));
        let mut after = log.events[at + 1..].iter().filter(|event| !warning(event));
        let contained = match log.row.kind {
            _ if request.role == Role::Verifier => after.next().is_none_or(|next| match &next.fact {
                Fact::Run(R::CheckRejected(fact)) => fact.effect.0 == request.effect,
                Fact::Run(R::CriterionChecked(fact)) => fact.state == CriterionState::Claimed,
                _ => false,
            }),
            // A late answer is ignored; any other is rejected by the next event of its node.
            Kind::Tree => after.find(|next| next.node_id == log.events[at].node_id).is_none_or(|next| {
                matches!(&next.fact, Fact::Tree(T::AnswerRejected(fact)) if fact.effect.0 == request.effect)
                    || !acts(&next.fact)
            }),
            Kind::Task => after.next().is_some_and(|next| match &next.fact {
                Fact::Task(K::AnswerRejected(fact)) => fact.effect.0 == request.effect,
                Fact::Task(K::Ended(fact)) => fact.ending == TaskEnding::Exception,
                Fact::Task(K::ScratchpadUpdateFailed(_)) => true,
                // An empty reflection changes nothing.
                Fact::Task(K::Reflected(fact)) => fact.scratchpad.is_none(),
                _ => false,
            }),
            Kind::Homework => after.next().is_some_and(|next| match &next.fact {
                Fact::Homework(H::AnswerRejected(fact)) => fact.effect.0 == request.effect,
                Fact::Homework(H::ExecutorFinished(fact)) => !fact.ok,
                Fact::Homework(H::RepairAttempted(fact)) => fact.error.is_some(),
                Fact::Run(R::ReportCreated(fact)) => fact.report["prose_by"] == "platform",
                _ => false,
            }),
        };
        if !contained {
            log.violation_at(&log.events[at], format_args!("41: the spoiled answer to {request} was acted upon"));
        }
    }
}

/// Whether only a model's answer can cause this fact.
fn acts(fact: &Fact) -> bool {
    match fact {
        Fact::Run(R::QuestionAsked(_)) => true,
        Fact::Tree(T::NodeStatusChanged(fact)) => {
            fact.message.as_ref().is_some_and(|message| message.starts_with("leaf_decision"))
        }
        Fact::Tree(fact) => matches!(
            fact,
            T::PlanCreated(_)
                | T::ScratchpadUpdated(_)
                | T::ExecutorAnswered(_)
                | T::ToolCallRequested(_)
                | T::ArtifactCreated(_)
                | T::NodeAggregated(_)
                | T::NodeResult(_)
        ),
        _ => false,
    }
}
