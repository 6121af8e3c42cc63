//! 31–34: no call is sent without its intent, none is paid twice, the limits hold at every intent, and the provider's bill
//! never exceeds what the run was charged.

use super::RunLog;
use crate::world::FinishedWorld;
use crate::world::provider::{Charge, Ended, Request};
use engine::budget::{Budgets, Reserve, Settled};
use engine::facts::effect::{Finished, FinishedAs};
use engine::facts::{EffectFact, Fact, RunFact as R};
use std::collections::{BTreeMap, BTreeSet};

type Key = (String, u32);

/// The calls as the run's log records them.
#[derive(Default)]
struct Ledger {
    started: BTreeMap<Key, (u64, Reserve)>,
    finished: BTreeMap<Key, (u64, Finished)>,
}

pub fn check(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let ledger = Ledger::of(log, violations);
    let bill: Vec<&Request> = finished.bill.iter().filter(|request| request.run == log.id).collect();
    limits_hold(log, violations);
    intended_first(finished, log, &ledger, &bill, violations);
    answered_for_good(log, violations);
    asked_once(finished, log, &ledger, &bill, violations);
    bill_is_covered(log, &ledger, &bill, violations);
}

impl Ledger {
    fn of(log: &RunLog, violations: &mut Vec<String>) -> Ledger {
        let mut ledger = Ledger::default();
        for event in &log.events {
            match &event.fact {
                Fact::Effect(EffectFact::Started(fact)) => {
                    let key = (fact.effect.0.clone(), fact.attempt);
                    if ledger.started.insert(key, (event.seq, fact.reserve)).is_some() {
                        violations
                            .push(format!("32: run {} intends {} attempt {} twice", log.id, fact.effect, fact.attempt));
                    }
                }
                Fact::Effect(EffectFact::Finished(fact)) if fact.outcome != FinishedAs::Refused => {
                    let key = (fact.effect.0.clone(), fact.attempt);
                    if ledger.finished.get(&key).is_some_and(|(_, before)| calls_off(fact, before)) {
                        continue;
                    }
                    if ledger.finished.insert(key, (event.seq, fact.clone())).is_some() {
                        violations.push(format!(
                            "34: run {} finishes {} attempt {} twice",
                            log.id, fact.effect, fact.attempt
                        ));
                    }
                }
                _ => {}
            }
        }
        ledger
    }
}

/// A call that was to be tried again is not, and that costs nothing more.
fn calls_off(fact: &Finished, before: &Finished) -> bool {
    let waited = matches!(before.outcome, FinishedAs::Transient | FinishedAs::Lost);
    waited && fact.outcome == FinishedAs::Canceled && fact.settled == Settled::default()
}

/// 33, computed here independently: at every intent, spent plus reserved plus the wrap-up reserve fits the limits.
fn limits_hold(log: &RunLog, violations: &mut Vec<String>) {
    let (mut budgets, mut kept) = (Budgets::default(), Reserve::default());
    let mut spent = Reserve::default();
    let mut exhausted = false;
    let mut open: BTreeMap<Key, Reserve> = BTreeMap::new();
    for event in &log.events {
        match &event.fact {
            Fact::Run(R::Queued(fact)) => (budgets, kept) = (fact.budgets.clone(), Reserve::wrap_up(&fact.models)),
            Fact::Run(R::BudgetChanged(fact)) => (budgets, exhausted) = (fact.budgets.clone(), false),
            Fact::Effect(EffectFact::Started(fact)) => {
                open.insert((fact.effect.0.clone(), fact.attempt), fact.reserve);
                let kept = if is_last_word(&fact.effect.0, exhausted) { Reserve::default() } else { kept };
                let tokens = spent.tokens + kept.tokens + open.values().map(|reserve| reserve.tokens).sum::<u64>();
                let cost = spent.cost_usd + kept.cost_usd + open.values().map(|reserve| reserve.cost_usd).sum();
                if budgets.max_tokens.is_some_and(|limit| tokens > limit)
                    || budgets.max_cost_usd.is_some_and(|limit| cost > limit)
                {
                    violations.push(format!(
                        "33: run {} holds {tokens} tokens and {cost} at event {}, over its limits",
                        log.id, event.seq
                    ));
                }
            }
            Fact::Effect(EffectFact::Finished(fact)) => {
                let settled =
                    open.remove(&(fact.effect.0.clone(), fact.attempt)).map(|_| fact.settled).unwrap_or_default();
                spent.tokens = spent.tokens.saturating_add(settled.tokens_in).saturating_add(settled.tokens_out);
                spent.cost_usd += settled.cost_usd;
                exhausted |= fact.exhausted.is_some();
            }
            _ => {}
        }
    }
    if log.row.status.is_terminal() && !open.is_empty() {
        violations.push(format!(
            "33: run {} ended with calls still in flight: {:?}",
            log.id,
            open.keys().collect::<Vec<_>>()
        ));
    }
}

/// The calls the wrap-up reserve pays for: a report, a reflection, or the root's aggregation after a limit ended the work.
fn is_last_word(effect: &str, exhausted: bool) -> bool {
    let sums_up = effect.ends_with(".agg") || effect.ends_with(".agg.fix");
    effect.ends_with(".report") || effect.ends_with(".reflect") || (exhausted && sums_up && effect.contains(".n0."))
}

fn intended_first(
    finished: &FinishedWorld,
    log: &RunLog,
    ledger: &Ledger,
    bill: &[&Request],
    violations: &mut Vec<String>,
) {
    for request in bill {
        let intent = ledger.started.get(&(request.effect.clone(), request.attempt));
        let committed = intent.and_then(|(seq, _)| finished.record.committed_at(log.id, *seq));
        if committed.is_none_or(|at| at > request.at_ms) {
            violations.push(format!(
                "32: run {} asked for {}:{} without a stored intent",
                log.id, request.effect, request.attempt
            ));
        }
    }
}

/// 31 by the log: an effect that has its answer is never intended again.
fn answered_for_good(log: &RunLog, violations: &mut Vec<String>) {
    let mut answered = BTreeSet::new();
    for event in &log.events {
        match &event.fact {
            Fact::Effect(EffectFact::Finished(fact)) if fact.outcome == FinishedAs::Ok => {
                answered.insert(&fact.effect);
            }
            Fact::Effect(EffectFact::Started(fact)) if answered.contains(&fact.effect) => {
                violations.push(format!(
                    "31: run {} intends {} again at {} though its answer is stored",
                    log.id, fact.effect, event.seq
                ));
            }
            _ => {}
        }
    }
}

fn asked_once(
    finished: &FinishedWorld,
    log: &RunLog,
    ledger: &Ledger,
    bill: &[&Request],
    violations: &mut Vec<String>,
) {
    let mut asked: BTreeMap<Key, u32> = BTreeMap::new();
    for request in bill {
        let times = asked.entry((request.effect.clone(), request.attempt)).or_default();
        *times += 1;
        if *times == 2 {
            violations.push(format!("31: run {} asked for {}:{} twice", log.id, request.effect, request.attempt));
        }
        // A process that stood still between its intent and the call cannot know what happened meanwhile.
        let intended = ledger
            .started
            .get(&(request.effect.clone(), request.attempt))
            .and_then(|(seq, _)| finished.record.committed_at(log.id, *seq));
        if finished.record.stalls > 0 && intended.is_none_or(|at| at < request.at_ms) {
            continue;
        }
        let answers = ledger
            .finished
            .iter()
            .filter(|((effect, _), (_, fact))| *effect == request.effect && fact.outcome == FinishedAs::Ok);
        for ((_, attempt), (seq, _)) in answers {
            if finished.record.committed_at(log.id, *seq).is_some_and(|at| at < request.at_ms) {
                violations.push(format!(
                    "31: run {} asked for {}:{} though the answer to :{attempt} was stored",
                    log.id, request.effect, request.attempt
                ));
            }
        }
    }
}

/// 34, attempt by attempt. A charge above the reservation is the provider's own lie; it is only known when
/// the answer arrived.
fn bill_is_covered(log: &RunLog, ledger: &Ledger, bill: &[&Request], violations: &mut Vec<String>) {
    for request in bill {
        let key = (request.effect.clone(), request.attempt);
        let (Some((_, reserve)), Some((_, fact))) = (ledger.started.get(&key), ledger.finished.get(&key)) else {
            continue;
        };
        let settled =
            Charge { tokens: fact.settled.tokens_in + fact.settled.tokens_out, micro_usd: fact.settled.cost_usd.0 };
        let known = matches!(request.ended, Ended::Answered { usage_known: true, .. });
        let lie = request.charged.tokens > reserve.tokens || request.charged.micro_usd > reserve.cost_usd.0;
        let covered = match fact.outcome {
            FinishedAs::Ok if known => settled == request.charged,
            FinishedAs::Ok => fact.settled.estimated,
            _ => lie || (request.charged.tokens <= settled.tokens && request.charged.micro_usd <= settled.micro_usd),
        };
        if !covered {
            violations.push(format!(
                "34: run {} settled {settled:?} for {}:{}, the bill says {:?}",
                log.id, request.effect, request.attempt, request.charged
            ));
        }
        let reserved = Charge { tokens: reserve.tokens, micro_usd: reserve.cost_usd.0 };
        if fact.settled.presumed && settled != reserved {
            violations.push(format!(
                "34: run {} presumes {settled:?} for {}:{}, reserved were {reserved:?}",
                log.id, request.effect, request.attempt
            ));
        }
    }
}
