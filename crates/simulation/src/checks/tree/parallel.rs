//! A tree has at most `max_parallel` calls open at once, by its log and by the provider's bill.

use super::super::RunLog;
use engine::facts::{EffectFact as E, Fact, RunFact as R};
use std::collections::BTreeSet;

pub fn check(log: &RunLog<'_>) {
    let (mut open, mut most) = (BTreeSet::new(), 0);
    for event in &log.events {
        match &event.fact {
            Fact::Run(R::Queued(fact)) => most = fact.budgets.max_parallel as usize,
            Fact::Run(R::BudgetChanged(fact)) => most = fact.budgets.max_parallel as usize,
            Fact::Effect(E::Started(fact)) => {
                open.insert((&fact.effect, fact.attempt));
                if open.len() > most {
                    log.violation_at(event, format_args!("max_parallel: {} calls, {most} allowed", open.len()));
                }
            }
            Fact::Effect(E::Finished(fact)) => drop(open.remove(&(&fact.effect, fact.attempt))),
            _ => {}
        }
    }
    // Where a process dies or stalls, its calls may still be open at the provider.
    if log.has_no_store_faults_or_crashes() {
        at_once(log, most);
    }
}

fn at_once(log: &RunLog<'_>, most: usize) {
    for request in &log.bill {
        let at = request.at_ms;
        let open = log.bill.iter().filter(|other| other.at_ms <= at && other.end_ms.is_none_or(|end| end > at)).count();
        if open > most {
            return log.violation(format_args!("max_parallel: the provider saw {open} calls at once, {most} allowed"));
        }
    }
}
