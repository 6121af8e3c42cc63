//! 31–34: nothing is asked that was not intended, nothing is paid twice, the limits hold at every intent,
//! and the provider's own bill never exceeds what the run was charged.

use super::Story;
use crate::world::Lived;
use crate::world::provider::{Charge, Ended, Request};
use engine::budget::{Budgets, Reserve, Settled};
use engine::facts::effect::{Finished, FinishedAs};
use engine::facts::{Effect, Fact, Run as R};
use std::collections::{BTreeMap, BTreeSet};

type Key = (String, u32);

/// The run's own account of its calls.
#[derive(Default)]
struct Ledger {
    started: BTreeMap<Key, (u64, Reserve)>,
    finished: BTreeMap<Key, (u64, Finished)>,
}

pub fn check(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    let ledger = Ledger::of(story, wrongs);
    let bill: Vec<&Request> = lived.bill.iter().filter(|request| request.run == story.id).collect();
    limits_hold(story, wrongs);
    intended_first(lived, story, &ledger, &bill, wrongs);
    answered_for_good(story, wrongs);
    asked_once(lived, story, &ledger, &bill, wrongs);
    bill_is_covered(story, &ledger, &bill, wrongs);
}

impl Ledger {
    fn of(story: &Story, wrongs: &mut Vec<String>) -> Ledger {
        let mut ledger = Ledger::default();
        for event in &story.events {
            match &event.fact {
                Fact::Effect(Effect::Started(fact)) => {
                    let key = (fact.effect.0.clone(), fact.attempt);
                    if ledger.started.insert(key, (event.seq, fact.reserve)).is_some() {
                        wrongs.push(format!(
                            "32: run {} intends {} attempt {} twice",
                            story.id, fact.effect, fact.attempt
                        ));
                    }
                }
                Fact::Effect(Effect::Finished(fact)) if fact.outcome != FinishedAs::Refused => {
                    let key = (fact.effect.0.clone(), fact.attempt);
                    if ledger.finished.get(&key).is_some_and(|(_, before)| calls_off(fact, before)) {
                        continue;
                    }
                    if ledger.finished.insert(key, (event.seq, fact.clone())).is_some() {
                        wrongs.push(format!(
                            "34: run {} finishes {} attempt {} twice",
                            story.id, fact.effect, fact.attempt
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

/// 33, by arithmetic of its own: at every intent everything spent and reserved fits, the wrap-up kept back.
fn limits_hold(story: &Story, wrongs: &mut Vec<String>) {
    let (mut budgets, mut kept) = (Budgets::default(), Reserve::default());
    let mut spent = Reserve::default();
    let mut exhausted = false;
    let mut open: BTreeMap<Key, Reserve> = BTreeMap::new();
    for event in &story.events {
        match &event.fact {
            Fact::Run(R::Queued(fact)) => (budgets, kept) = (fact.budgets.clone(), Reserve::wrap_up(&fact.models)),
            Fact::Run(R::BudgetChanged(fact)) => (budgets, exhausted) = (fact.budgets.clone(), false),
            Fact::Effect(Effect::Started(fact)) => {
                open.insert((fact.effect.0.clone(), fact.attempt), fact.reserve);
                let kept = if is_last_word(&fact.effect.0, exhausted) { Reserve::default() } else { kept };
                let tokens = spent.tokens + kept.tokens + open.values().map(|reserve| reserve.tokens).sum::<u64>();
                let cost = spent.cost_usd + kept.cost_usd + open.values().map(|reserve| reserve.cost_usd).sum();
                if budgets.max_tokens.is_some_and(|limit| tokens > limit)
                    || budgets.max_cost_usd.is_some_and(|limit| cost > limit)
                {
                    wrongs.push(format!(
                        "33: run {} holds {tokens} tokens and {cost} at event {}, over its limits",
                        story.id, event.seq
                    ));
                }
            }
            Fact::Effect(Effect::Finished(fact)) => {
                let settled =
                    open.remove(&(fact.effect.0.clone(), fact.attempt)).map(|_| fact.settled).unwrap_or_default();
                spent.tokens = spent.tokens.saturating_add(settled.tokens_in).saturating_add(settled.tokens_out);
                spent.cost_usd += settled.cost_usd;
                exhausted |= fact.exhausted.is_some();
            }
            _ => {}
        }
    }
    if story.row.status.is_terminal() && !open.is_empty() {
        wrongs.push(format!(
            "33: run {} ended with calls still in flight: {:?}",
            story.id,
            open.keys().collect::<Vec<_>>()
        ));
    }
}

/// What the wrap-up pays for: a report, a subagent's look back, or the sum of a tree's root once a limit has ended the work.
fn is_last_word(effect: &str, exhausted: bool) -> bool {
    let sums_up = effect.ends_with(".agg") || effect.ends_with(".agg.fix");
    effect.ends_with(".report") || effect.ends_with(".reflect") || (exhausted && sums_up && effect.contains(".n0."))
}

fn intended_first(lived: &Lived, story: &Story, ledger: &Ledger, bill: &[&Request], wrongs: &mut Vec<String>) {
    for request in bill {
        let intent = ledger.started.get(&(request.effect.clone(), request.attempt));
        let committed = intent.and_then(|(seq, _)| lived.record.committed_at(story.id, *seq));
        if committed.is_none_or(|at| at > request.at_ms) {
            wrongs.push(format!(
                "32: run {} asked for {}:{} without a stored intent",
                story.id, request.effect, request.attempt
            ));
        }
    }
}

/// 31 by the log: an effect that has its answer is never intended again.
fn answered_for_good(story: &Story, wrongs: &mut Vec<String>) {
    let mut answered = BTreeSet::new();
    for event in &story.events {
        match &event.fact {
            Fact::Effect(Effect::Finished(fact)) if fact.outcome == FinishedAs::Ok => {
                answered.insert(&fact.effect);
            }
            Fact::Effect(Effect::Started(fact)) if answered.contains(&fact.effect) => {
                wrongs.push(format!(
                    "31: run {} intends {} again at {} though its answer is stored",
                    story.id, fact.effect, event.seq
                ));
            }
            _ => {}
        }
    }
}

fn asked_once(lived: &Lived, story: &Story, ledger: &Ledger, bill: &[&Request], wrongs: &mut Vec<String>) {
    let mut asked: BTreeMap<Key, u32> = BTreeMap::new();
    for request in bill {
        let times = asked.entry((request.effect.clone(), request.attempt)).or_default();
        *times += 1;
        if *times == 2 {
            wrongs.push(format!("31: run {} asked for {}:{} twice", story.id, request.effect, request.attempt));
        }
        // A process that stood still between its intent and the call cannot know what happened meanwhile.
        let intended = ledger
            .started
            .get(&(request.effect.clone(), request.attempt))
            .and_then(|(seq, _)| lived.record.committed_at(story.id, *seq));
        if lived.record.stalls > 0 && intended.is_none_or(|at| at < request.at_ms) {
            continue;
        }
        let answers = ledger
            .finished
            .iter()
            .filter(|((effect, _), (_, fact))| *effect == request.effect && fact.outcome == FinishedAs::Ok);
        for ((_, attempt), (seq, _)) in answers {
            if lived.record.committed_at(story.id, *seq).is_some_and(|at| at < request.at_ms) {
                wrongs.push(format!(
                    "31: run {} asked for {}:{} though the answer to :{attempt} was stored",
                    story.id, request.effect, request.attempt
                ));
            }
        }
    }
}

/// 34, attempt by attempt. A charge above the reservation is the provider's own lie; it is only known when
/// the answer arrived.
fn bill_is_covered(story: &Story, ledger: &Ledger, bill: &[&Request], wrongs: &mut Vec<String>) {
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
            wrongs.push(format!(
                "34: run {} settled {settled:?} for {}:{}, the bill says {:?}",
                story.id, request.effect, request.attempt, request.charged
            ));
        }
        let reserved = Charge { tokens: reserve.tokens, micro_usd: reserve.cost_usd.0 };
        if fact.settled.presumed && settled != reserved {
            wrongs.push(format!(
                "34: run {} presumes {settled:?} for {}:{}, reserved were {reserved:?}",
                story.id, request.effect, request.attempt
            ));
        }
    }
}
