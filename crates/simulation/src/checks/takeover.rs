//! 38: a process never takes a run over from itself. While it lives, an answer that reached it is not asked for again,
//! however long the database was away.

use super::Story;
use crate::world::Lived;
use engine::facts::effect::FinishedAs;
use engine::facts::{Effect, Fact};
use engine::ids::RunId;
use runtime::ports::Lease;
use std::collections::BTreeMap;

/// How many calls were lost, whoever made them.
pub fn check(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) -> usize {
    let mut lost = 0;
    let mut started: BTreeMap<(&str, u32), &Lease> = BTreeMap::new();
    for event in &story.events {
        let Some(lease) = driver(lived, story.id, event.seq) else { continue };
        match &event.fact {
            Fact::Effect(Effect::Started(fact)) => drop(started.insert((&fact.effect.0, fact.attempt), lease)),
            Fact::Effect(Effect::Finished(fact)) if fact.outcome == FinishedAs::Lost => {
                lost += 1;
                let Some(caller) = started.get(&(fact.effect.0.as_str(), fact.attempt)) else { continue };
                if held_throughout(lived, caller, lease) {
                    wrongs.push(format!(
                        "38: {} calls {}:{} of run {} lost, which it had made itself and never let go of",
                        lease.worker, fact.effect, fact.attempt, story.id
                    ));
                }
            }
            _ => {}
        }
    }
    lost
}

/// Whose commit brought this event.
fn driver(lived: &Lived, run: RunId, seq: u64) -> Option<&Lease> {
    let mut commits = lived.record.commits.iter().filter(|commit| commit.run == run);
    commits.find(|commit| commit.first_seq <= seq && seq <= commit.row.last_seq)?.fence.as_ref()
}

/// Nobody else was given the run between these two leases.
fn held_throughout(lived: &Lived, from: &Lease, to: &Lease) -> bool {
    let holds = lived.record.holds.get(&to.run_id).into_iter().flatten();
    let mut between = holds.filter(|hold| hold.epoch >= from.epoch && hold.epoch <= to.epoch);
    from.worker == to.worker && between.all(|hold| hold.worker == to.worker)
}
