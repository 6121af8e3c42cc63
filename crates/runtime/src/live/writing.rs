//! What the calls in flight of this process have written so far: the newest part of each, for readers who come late. Never
//! stored, and forgotten when a call ends.

use super::{Delta, Live};
use engine::effect::EffectId;
use engine::ids::RunId;
use engine::model::Role;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The characters that are kept of one answer.
const MAX_KEPT: usize = 2_000;

#[derive(Default)]
pub(super) struct Writings(Mutex<HashMap<RunId, BTreeMap<EffectId, Writing>>>);

struct Writing {
    attempt: u32,
    role: Role,
    /// The characters before those that are kept.
    from: u64,
    kept: String,
}

impl Writings {
    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, BTreeMap<EffectId, Writing>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, delta: &Delta<'_>) {
        let Delta { run_id, effect, attempt, role, shown, from, .. } = *delta;
        let mut runs = self.lock();
        let calls = runs.entry(run_id).or_default();
        let writing = match calls.get_mut(effect).filter(|writing| writing.attempt == attempt) {
            Some(writing) => writing,
            None => {
                calls.insert(effect.clone(), Writing { attempt, role, from, kept: String::new() });
                calls.get_mut(effect).expect("it was just inserted")
            }
        };
        writing.kept.push_str(shown);
        let over = writing.kept.chars().count().saturating_sub(MAX_KEPT);
        let end = writing.kept.char_indices().nth(over).map_or(writing.kept.len(), |(at, _)| at);
        writing.kept.drain(..end);
        writing.from += over as u64;
    }

    pub(super) fn remove(&self, run: RunId, effect: &EffectId) {
        let mut runs = self.lock();
        let Some(calls) = runs.get_mut(&run) else { return };
        calls.remove(effect);
        if calls.is_empty() {
            runs.remove(&run);
        }
    }

    fn of(&self, run: RunId) -> Vec<Arc<str>> {
        let runs = self.lock();
        let calls = runs.get(&run).into_iter().flatten();
        let json = |(effect, writing): (&EffectId, &Writing)| {
            let Writing { attempt, role, from, kept } = writing;
            let delta =
                Delta { run_id: run, effect, attempt: *attempt, role: *role, text: "", shown: kept, from: *from };
            serde_json::to_string(&delta).ok().map(Arc::from)
        };
        calls.filter_map(json).collect()
    }
}

impl Live {
    /// For a reader who has just come: a delta for each call in flight, with the newest part of what it has written.
    pub fn written(&self, run: RunId) -> Vec<Arc<str>> {
        self.shared.writings.of(run)
    }

    /// The call has ended. Its outcome is not committed yet, so whoever reads of it in the log finds nothing here.
    pub fn stop_writing(&self, run: RunId, effect: &EffectId) {
        self.shared.writings.remove(run, effect);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn t4_a_late_reader_gets_the_newest_part_of_what_is_being_written() {
        // Given a call that has written more than is kept, and nobody who listened
        let live = Live::default();
        let (run, effect) = (RunId(uuid::Uuid::nil()), EffectId("a.n1.g1.x.r1".into()));
        let delta = |attempt, shown, from| Delta {
            run_id: run,
            effect: &effect,
            attempt,
            role: Role::TreeExecutor,
            text: "",
            shown,
            from,
        };
        live.send_delta(&delta(1, "lost with the first attempt", 0));
        let long = "é".repeat(MAX_KEPT);
        live.send_delta(&delta(2, &long, 0));
        live.send_delta(&delta(2, "the end", MAX_KEPT as u64));
        // When somebody comes, then they get its end, and where it stands in the whole
        let written = live.written(run);
        let newest: Value = serde_json::from_str(&written[0]).expect("JSON");
        assert_eq!((written.len(), &newest["attempt"], &newest["from"]), (1, &2.into(), &7.into()));
        let shown = newest["shown"].as_str().expect("text");
        assert!(shown.ends_with("éthe end") && shown.chars().count() == MAX_KEPT, "{shown}");
        // And nothing once the call has ended
        live.stop_writing(run, &effect);
        assert!(live.written(run).is_empty());
    }
}
