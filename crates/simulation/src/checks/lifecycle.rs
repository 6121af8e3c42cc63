//! 13, 20, 36, 37: a run ends once, writes one entry per iteration, uses nothing while it waits, and counts only real
//! working time.

use super::RunLog;
use super::fold::replay;
use engine::event::Event;
use engine::facts::effect::FinishedAs;
use engine::facts::{EffectFact, Fact, HomeworkFact as H, RunFact as R, TreeFact as T, run::ResumeReason};
use engine::model::Role;
use engine::run::Status;
use std::collections::{BTreeMap, BTreeSet};

pub fn check(log: &RunLog<'_>) {
    terminal_is_terminal(log);
    entries_once(log);
    let worked_ms = waiting_burns_nothing(log);
    working_time(log, worked_ms);
    nothing_lost_in_steady_worlds(log);
}

fn terminal_is_terminal(log: &RunLog<'_>) {
    let mut ended: Option<&R> = None;
    for event in &log.events {
        let audit = matches!(event.fact, Fact::Run(R::MessageQueued(_) | R::BudgetChanged(_)));
        let canceled = matches!(ended, Some(R::Canceled(_)));
        let for_good = canceled || matches!(ended, Some(R::Completed(_)));
        match &event.fact {
            Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::Continued && !for_good => ended = None,
            // A tree that completed may have one of its nodes tried again.
            Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::Retry && !canceled => ended = None,
            fact if ended.is_some() && checks(fact) => {}
            _ if ended.is_some() && (!audit || for_good) => {
                log.violation_at(event, format_args!("13: {} after the run ended", event.kind()));
            }
            Fact::Run(fact @ (R::Completed(_) | R::Stopped(_) | R::Failed(_) | R::Canceled(_))) => ended = Some(fact),
            _ => {}
        }
    }
}

/// Whether the fact only tells of the criteria being judged or decided about, which an ended run allows and survives.
fn checks(fact: &Fact) -> bool {
    match fact {
        Fact::Run(fact) => matches!(
            fact,
            R::CriterionDecided(_)
                | R::CheckStarted(_)
                | R::EvidenceRead(_)
                | R::VerdictsGiven(_)
                | R::CheckRejected(_)
                | R::CriterionChecked(_)
                | R::Recovered(_)
                | R::ProviderWaiting(_)
                | R::BudgetWarning(_)
        ),
        Fact::Effect(EffectFact::Started(fact)) => fact.what == Role::Verifier.name(),
        Fact::Effect(EffectFact::Finished(fact)) => fact.effect.0.contains(".v"),
        _ => false,
    }
}

fn entries_once(log: &RunLog<'_>) {
    let (mut written, mut started, mut completed) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut keys = BTreeSet::new();
    for event in &log.events {
        let entry = match &event.fact {
            Fact::Homework(H::ScratchpadAppended(fact)) => {
                *written.entry(fact.iteration).or_insert(0) += 1;
                Some((fact.scratchpad_document_id, &fact.entry_key))
            }
            Fact::Homework(H::ExecutorFinished(fact)) => {
                fact.entry.as_ref().map(|entry| (entry.scratchpad_document_id, &entry.entry_key))
            }
            Fact::Tree(T::ScratchpadUpdated(fact)) => Some((fact.scratchpad_doc_id, &fact.entry_key)),
            Fact::Homework(H::IterationStarted(fact)) => {
                started.push(fact.iteration);
                None
            }
            Fact::Homework(H::IterationCompleted(fact)) => {
                completed.push(fact.iteration);
                None
            }
            _ => None,
        };
        if let Some((_, key)) = entry.filter(|entry| !keys.insert(*entry)) {
            log.violation_at(event, format_args!("20: a second entry {key}"));
        }
    }
    if log.row.status.is_terminal() && started != completed {
        log.violation(format_args!("20: iterations {started:?} started and {completed:?} were closed"));
    }
    if !completed.iter().copied().eq(1..=completed.len() as u32) {
        log.violation(format_args!("20: completed iterations {completed:?}"));
    }
    if written != completed.into_iter().map(|iteration| (iteration, 1)).collect() {
        log.violation(format_args!("20: entries per iteration {written:?}"));
    }
}

/// Returns the run's working time in all.
fn waiting_burns_nothing(log: &RunLog<'_>) -> i64 {
    let mut before = (Status::Running, 0);
    replay(&log.events, |run, event| {
        let now = (run.shared.status(), run.shared.metrics.running_ms);
        let (was, ran) = std::mem::replace(&mut before, now);
        if was == Status::Running {
            return;
        }
        if now.1 != ran {
            log.violation_at(event, format_args!("36: worked {} ms while {}", now.1 - ran, was.name()));
        }
        let starts = matches!(&event.fact, Fact::Effect(EffectFact::Started(fact)) if !was.is_terminal() || fact.what != Role::Verifier.name());
        if starts {
            log.violation_at(event, format_args!("36: a call started while {}", was.name()));
        }
    });
    before.1
}

/// Working time only counts while a worker held a valid lease or proved to be alive.
fn working_time(log: &RunLog<'_>, worked: i64) {
    let holds = log.world.record.holds.get(&log.id).map(Vec::as_slice).unwrap_or_default();
    let mut held: u64 = holds.iter().map(|hold| hold.until_ms.max(hold.seen_ms).saturating_sub(hold.from_ms)).sum();
    // A driver that died before its first commit was still the last one seen, so the gap before it counts as its own.
    for pair in holds.windows(2).filter(|pair| !pair[1].committed) {
        held += pair[1].from_ms.saturating_sub(pair[0].until_ms.max(pair[0].seen_ms));
    }
    // A command that stops the run ends its working time, even when the worker had died before.
    let rests = |event: &&Event| {
        matches!(
            event.fact,
            Fact::Run(
                R::Paused(_) | R::WaitingOnUser(_) | R::Completed(_) | R::Stopped(_) | R::Failed(_) | R::Canceled(_)
            )
        )
    };
    for event in log.events.iter().filter(rests) {
        let at = crate::clock::VirtualClock::since_beginning(event.at);
        let lapsed = holds.iter().rev().find(|hold| hold.from_ms <= at).map_or(at, |hold| hold.until_ms);
        held += at.saturating_sub(lapsed);
    }
    if worked < 0 || worked as u64 > held {
        log.violation(format_args!("37: worked {worked} ms, but was held for {held} ms only"));
    }
}

fn nothing_lost_in_steady_worlds(log: &RunLog<'_>) {
    let lost = |event: &&Event| matches!(&event.fact, Fact::Effect(EffectFact::Finished(fact)) if fact.outcome == FinishedAs::Lost);
    for event in log.events.iter().filter(lost).filter(|_| log.has_no_store_faults_or_crashes()) {
        log.violation_at(event, "34: a call was lost though no process died");
    }
}
