//! 13, 20, 36, 37: a run ends once, writes one entry per iteration, uses nothing while it waits, and counts only real
//! working time.

use super::RunLog;
use super::fold::replay;
use crate::world::FinishedWorld;
use engine::event::Event;
use engine::facts::{EffectFact, Fact, HomeworkFact as H, RunFact as R, TreeFact as T, run::ResumeReason};
use engine::run::Status;
use std::collections::{BTreeMap, BTreeSet};

pub fn check(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    terminal_is_terminal(log, violations);
    entries_once(log, violations);
    waiting_burns_nothing(log, violations);
    working_time(finished, log, violations);
    nothing_lost_in_steady_worlds(finished, log, violations);
}

fn terminal_is_terminal(log: &RunLog, violations: &mut Vec<String>) {
    let mut ended: Option<&Event> = None;
    for event in &log.events {
        let audit = matches!(event.fact, Fact::Run(R::MessageQueued(_) | R::BudgetChanged(_)));
        let canceled = ended.is_some_and(|end| matches!(end.fact, Fact::Run(R::Canceled(_))));
        let for_good = canceled || ended.is_some_and(|end| matches!(end.fact, Fact::Run(R::Completed(_))));
        match &event.fact {
            Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::Continued && !for_good => ended = None,
            // A tree that completed may have one of its nodes tried again.
            Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::Retry && !canceled => ended = None,
            _ if ended.is_some() && (!audit || for_good) => {
                violations.push(format!(
                    "13: run {} went on at {} with {} after it ended",
                    log.id,
                    event.seq,
                    event.kind()
                ));
            }
            Fact::Run(R::Completed(_) | R::Stopped(_) | R::Failed(_) | R::Canceled(_)) => ended = Some(event),
            _ => {}
        }
    }
}

fn entries_once(log: &RunLog, violations: &mut Vec<String>) {
    let (mut written, mut completed) = (BTreeMap::new(), Vec::new());
    let mut keys = BTreeSet::new();
    for event in &log.events {
        match &event.fact {
            Fact::Homework(H::ScratchpadAppended(fact)) => {
                *written.entry(fact.iteration).or_insert(0) += 1;
                if !keys.insert((fact.scratchpad_document_id, fact.entry_key.clone())) {
                    violations.push(format!("20: run {} has two entries {}", log.id, fact.entry_key));
                }
            }
            Fact::Homework(H::ExecutorFinished(fact)) => {
                if let Some(entry) = &fact.entry
                    && !keys.insert((entry.scratchpad_document_id, entry.entry_key.clone()))
                {
                    violations.push(format!(
                        "20: run {} has two entries {} on branch {}",
                        log.id, entry.entry_key, fact.branch_id
                    ));
                }
            }
            Fact::Tree(T::ScratchpadUpdated(fact))
                if !keys.insert((fact.scratchpad_doc_id, fact.entry_key.clone())) =>
            {
                violations.push(format!("20: run {} has two entries {}", log.id, fact.entry_key));
            }
            Fact::Homework(H::IterationCompleted(fact)) => completed.push(fact.iteration),
            _ => {}
        }
    }
    let expected: Vec<u32> = (1..=completed.len() as u32).collect();
    if completed != expected {
        violations.push(format!("20: run {} completed iterations {completed:?}", log.id));
    }
    if written != completed.into_iter().map(|iteration| (iteration, 1)).collect() {
        violations.push(format!("20: run {} has entries per iteration {written:?}", log.id));
    }
}

fn waiting_burns_nothing(log: &RunLog, violations: &mut Vec<String>) {
    let mut before: Option<(Status, i64)> = None;
    replay(&log.events, |run, event| {
        let (status, running_ms) = (run.shared.status(), run.shared.metrics.running_ms);
        if let Some((was, ran)) = before
            && was != Status::Running
        {
            if running_ms != ran {
                violations.push(format!(
                    "36: run {} worked {} ms while {} (event {})",
                    log.id,
                    running_ms - ran,
                    was.name(),
                    event.seq
                ));
            }
            if matches!(event.fact, Fact::Effect(EffectFact::Started(_))) {
                violations.push(format!(
                    "36: run {} started a call while {} (event {})",
                    log.id,
                    was.name(),
                    event.seq
                ));
            }
        }
        before = Some((status, running_ms));
    });
}

/// Working time only counts while a worker held a valid lease or proved to be alive.
fn working_time(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let Some(run) = replay(&log.events, |_, _| ()) else { return };
    let holds = finished.record.holds.get(&log.id).map(Vec::as_slice).unwrap_or_default();
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
    let worked = run.shared.metrics.running_ms;
    if worked < 0 || worked as u64 > held {
        violations.push(format!("37: run {} worked {worked} ms, but was held for {held} ms only", log.id));
    }
}

fn nothing_lost_in_steady_worlds(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    use engine::facts::effect::FinishedAs;
    if !finished.setup.fault_rates.is_steady() || finished.setup.crash_at.is_some() {
        return;
    }
    for event in &log.events {
        if matches!(&event.fact, Fact::Effect(EffectFact::Finished(fact)) if fact.outcome == FinishedAs::Lost) {
            violations.push(format!("34: run {} lost a call at {} though no process died", log.id, event.seq));
        }
    }
}
