//! 31–34: no call is sent without its intent, none is paid twice, the limits hold at every intent, and the provider's bill
//! never exceeds what the run was charged.

use super::RunLog;
use crate::world::provider::{Charge, Ended, Request};
use engine::budget::{Budgets, Reserve, Settled};
use engine::facts::effect::{Finished, FinishedAs};
use engine::facts::{EffectFact, Fact, RunFact as R};
use std::collections::{BTreeMap, BTreeSet};

type Key<'a> = (&'a str, u32);

/// The calls as the run's log records them, with the seqs of their events.
#[derive(Default)]
struct Ledger<'a> {
    started: BTreeMap<Key<'a>, (u64, Reserve)>,
    finished: BTreeMap<Key<'a>, (u64, &'a Finished)>,
}

pub fn check(log: &RunLog<'_>) {
    let ledger = Ledger::of(log);
    limits_hold(log);
    answered_for_good(log);
    intended_and_asked_once(log, &ledger);
    bill_is_covered(log, &ledger);
}

impl<'a> Ledger<'a> {
    fn of(log: &'a RunLog<'_>) -> Ledger<'a> {
        let mut ledger = Ledger::default();
        for event in &log.events {
            match &event.fact {
                Fact::Effect(EffectFact::Started(fact)) => {
                    let key = (fact.effect.0.as_str(), fact.attempt);
                    if ledger.started.insert(key, (event.seq, fact.reserve)).is_some() {
                        log.violation_at(event, format_args!("32: {key:?} is intended twice"));
                    }
                }
                Fact::Effect(EffectFact::Finished(fact)) if fact.outcome != FinishedAs::Refused => {
                    let key = (fact.effect.0.as_str(), fact.attempt);
                    if ledger.finished.get(&key).is_some_and(|(_, before)| calls_off(fact, before)) {
                        continue;
                    }
                    if ledger.finished.insert(key, (event.seq, fact)).is_some() {
                        log.violation_at(event, format_args!("34: {key:?} finishes twice"));
                    }
                }
                _ => {}
            }
        }
        ledger
    }

    fn intended_at(&self, log: &RunLog<'_>, request: &Request) -> Option<u64> {
        self.started.get(&request.key()).and_then(|(seq, _)| log.committed_at(*seq))
    }
}

/// A call that was to be tried again is not, and that costs nothing more.
fn calls_off(fact: &Finished, before: &Finished) -> bool {
    let waited = matches!(before.outcome, FinishedAs::Transient | FinishedAs::Lost);
    waited && fact.outcome == FinishedAs::Canceled && fact.settled == Settled::default()
}

/// 33, computed here independently: at every intent, spent plus reserved plus the wrap-up reserve fits the limits.
fn limits_hold(log: &RunLog<'_>) {
    let (mut budgets, mut kept) = (Budgets::default(), Reserve::default());
    let mut spent = Reserve::default();
    let mut exhausted = false;
    let mut open: BTreeMap<Key<'_>, Reserve> = BTreeMap::new();
    for event in &log.events {
        match &event.fact {
            Fact::Run(R::Queued(fact)) => (budgets, kept) = (fact.budgets.clone(), Reserve::wrap_up(&fact.models)),
            Fact::Run(R::BudgetChanged(fact)) => (budgets, exhausted) = (fact.budgets.clone(), false),
            Fact::Effect(EffectFact::Started(fact)) => {
                open.insert((&fact.effect.0, fact.attempt), fact.reserve);
                let kept = if is_last_word(&fact.effect.0, exhausted) { Reserve::default() } else { kept };
                let tokens = spent.tokens + kept.tokens + open.values().map(|reserve| reserve.tokens).sum::<u64>();
                let cost = spent.cost_usd + kept.cost_usd + open.values().map(|reserve| reserve.cost_usd).sum();
                if budgets.max_tokens.is_some_and(|limit| tokens > limit)
                    || budgets.max_cost_usd.is_some_and(|limit| cost > limit)
                {
                    log.violation_at(event, format_args!("33: holds {tokens} tokens and {cost}, over its limits"));
                }
            }
            Fact::Effect(EffectFact::Finished(fact)) => {
                let reserved = open.remove(&(fact.effect.0.as_str(), fact.attempt));
                let settled = reserved.map(|_| fact.settled).unwrap_or_default();
                spent.tokens = spent.tokens.saturating_add(settled.tokens_in).saturating_add(settled.tokens_out);
                spent.cost_usd += settled.cost_usd;
                exhausted |= fact.exhausted.is_some();
            }
            _ => {}
        }
    }
    if log.row.status.is_terminal() && !open.is_empty() {
        log.violation(format_args!("33: ended with calls still in flight: {:?}", open.keys()));
    }
}

/// The calls the wrap-up reserve pays for: a report, a reflection, or the root's aggregation after a limit ended the work.
fn is_last_word(effect: &str, exhausted: bool) -> bool {
    let sums_up = effect.ends_with(".agg") || effect.ends_with(".agg.fix");
    effect.ends_with(".report") || effect.ends_with(".reflect") || (exhausted && sums_up && effect.contains(".n0."))
}

/// 31 by the log: an effect that has its answer is never intended again.
fn answered_for_good(log: &RunLog<'_>) {
    let mut answered = BTreeSet::new();
    for event in &log.events {
        match &event.fact {
            Fact::Effect(EffectFact::Finished(fact)) if fact.outcome == FinishedAs::Ok => {
                answered.insert(&fact.effect);
            }
            Fact::Effect(EffectFact::Started(fact)) if answered.contains(&fact.effect) => {
                log.violation_at(event, format_args!("31: {} is intended though its answer is stored", fact.effect));
            }
            _ => {}
        }
    }
}

/// 31 and 32 by the bill.
fn intended_and_asked_once(log: &RunLog<'_>, ledger: &Ledger<'_>) {
    let mut asked = BTreeSet::new();
    for request in &log.bill {
        let intended = ledger.intended_at(log, request);
        if intended.is_none_or(|at| at > request.at_ms) {
            log.violation(format_args!("32: {request} was asked without a stored intent"));
        }
        if !asked.insert(request.key()) {
            log.violation(format_args!("31: {request} was asked twice"));
        }
        // A process that stood still between its intent and the call cannot know what happened meanwhile.
        if log.world.record.stalls > 0 && intended.is_none_or(|at| at < request.at_ms) {
            continue;
        }
        let answered = ledger.finished.iter().any(|((effect, _), (seq, fact))| {
            *effect == request.effect
                && fact.outcome == FinishedAs::Ok
                && log.committed_at(*seq).is_some_and(|at| at < request.at_ms)
        });
        if answered {
            log.violation(format_args!("31: {request} was asked though an answer was stored"));
        }
    }
}

/// 34, attempt by attempt. A charge above the reservation is the provider's own lie; it is only known when
/// the answer arrived.
fn bill_is_covered(log: &RunLog<'_>, ledger: &Ledger<'_>) {
    for request in &log.bill {
        let key = request.key();
        let (Some((_, reserve)), Some((_, fact))) = (ledger.started.get(&key), ledger.finished.get(&key)) else {
            continue;
        };
        let settled =
            Charge { tokens: fact.settled.tokens_in + fact.settled.tokens_out, micro_usd: fact.settled.cost_usd.0 };
        let reserved = Charge { tokens: reserve.tokens, micro_usd: reserve.cost_usd.0 };
        let (charged, known) = (request.charged, matches!(request.ended, Ended::Answered { usage_known: true, .. }));
        let covered = match fact.outcome {
            FinishedAs::Ok if known => settled == charged,
            FinishedAs::Ok => fact.settled.estimated,
            _ => !charged.fits(reserved) || charged.fits(settled),
        };
        if !covered {
            log.violation(format_args!("34: settled {settled:?} for {request}, the bill says {charged:?}"));
        }
        if fact.settled.presumed && settled != reserved {
            log.violation(format_args!("34: presumed {settled:?} for {request}, reserved were {reserved:?}"));
        }
    }
}
