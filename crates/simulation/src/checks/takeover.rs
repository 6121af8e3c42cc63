//! 38: a process never takes a run over from itself. While it lives, a call whose answer reached it is not made again,
//! however long the database was unreachable.

use super::RunLog;
use engine::facts::effect::FinishedAs;
use engine::facts::{EffectFact, Fact};
use runtime::ports::Lease;
use std::collections::BTreeMap;

/// Returns how many calls were lost in all.
pub fn check(log: &RunLog<'_>) -> usize {
    let mut lost = 0;
    let mut started: BTreeMap<(&str, u32), &Lease> = BTreeMap::new();
    for event in &log.events {
        let Some(lease) = log.commit_of(event.seq).and_then(|commit| commit.fence.as_ref()) else { continue };
        match &event.fact {
            Fact::Effect(EffectFact::Started(fact)) => drop(started.insert((&fact.effect.0, fact.attempt), lease)),
            Fact::Effect(EffectFact::Finished(fact)) if fact.outcome == FinishedAs::Lost => {
                lost += 1;
                let caller = started.get(&(fact.effect.0.as_str(), fact.attempt));
                if caller.is_some_and(|caller| held_throughout(log, caller, lease)) {
                    let (worker, effect) = (&lease.worker, &fact.effect);
                    log.violation_at(
                        event,
                        format_args!("38: {worker} calls its own {effect} lost, and held on to it"),
                    );
                }
            }
            _ => {}
        }
    }
    lost
}

/// Whether no other worker held the run between these two leases.
fn held_throughout(log: &RunLog<'_>, from: &Lease, to: &Lease) -> bool {
    let holds = log.world.record.holds.get(&log.id).into_iter().flatten();
    let mut between = holds.filter(|hold| hold.epoch >= from.epoch && hold.epoch <= to.epoch);
    from.worker == to.worker && between.all(|hold| hold.worker == to.worker)
}
