//! 38: a process never takes a run over from itself. While it lives, a call whose answer reached it is not made again,
//! however long the database was unreachable.

use super::RunLog;
use crate::world::FinishedWorld;
use engine::facts::effect::FinishedAs;
use engine::facts::{EffectFact, Fact};
use engine::ids::RunId;
use runtime::ports::Lease;
use std::collections::BTreeMap;

/// Returns how many calls were lost in all.
pub fn check(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) -> usize {
    let mut lost = 0;
    let mut started: BTreeMap<(&str, u32), &Lease> = BTreeMap::new();
    for event in &log.events {
        let Some(lease) = driver(finished, log.id, event.seq) else { continue };
        match &event.fact {
            Fact::Effect(EffectFact::Started(fact)) => drop(started.insert((&fact.effect.0, fact.attempt), lease)),
            Fact::Effect(EffectFact::Finished(fact)) if fact.outcome == FinishedAs::Lost => {
                lost += 1;
                let Some(caller) = started.get(&(fact.effect.0.as_str(), fact.attempt)) else { continue };
                if held_throughout(finished, caller, lease) {
                    violations.push(format!(
                        "38: {} calls {}:{} of run {} lost, which it had made itself and never let go of",
                        lease.worker, fact.effect, fact.attempt, log.id
                    ));
                }
            }
            _ => {}
        }
    }
    lost
}

/// The lease whose commit contains this event.
fn driver(finished: &FinishedWorld, run: RunId, seq: u64) -> Option<&Lease> {
    let mut commits = finished.record.commits.iter().filter(|commit| commit.run == run);
    commits.find(|commit| commit.first_seq <= seq && seq <= commit.row.last_seq)?.fence.as_ref()
}

/// Whether no other worker held the run between these two leases.
fn held_throughout(finished: &FinishedWorld, from: &Lease, to: &Lease) -> bool {
    let holds = finished.record.holds.get(&to.run_id).into_iter().flatten();
    let mut between = holds.filter(|hold| hold.epoch >= from.epoch && hold.epoch <= to.epoch);
    from.worker == to.worker && between.all(|hold| hold.worker == to.worker)
}
