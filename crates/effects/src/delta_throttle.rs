//! Broadcasts a growing answer to the readers of a run, at most 20 times a second.

use engine::effect::{EffectAttempt, EffectId};
use engine::ids::RunId;
use engine::model::Role;
use runtime::live::{Delta, Live};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(50);

pub(crate) struct DeltaThrottle<'a> {
    live: &'a Live,
    run_id: RunId,
    effect: &'a EffectId,
    attempt: u32,
    role: Role,
    /// Text that was not sent yet, and the time of the last message.
    held: Mutex<(String, Option<Instant>)>,
}

impl<'a> DeltaThrottle<'a> {
    pub(crate) fn new(live: &'a Live, attempt: &'a EffectAttempt, role: Role) -> DeltaThrottle<'a> {
        let EffectAttempt { run, effect, number, .. } = attempt;
        DeltaThrottle { live, run_id: run.run_id, effect, attempt: *number, role, held: Mutex::default() }
    }

    pub(crate) fn push(&self, delta: &str) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, last) = &mut *held;
        text.push_str(delta);
        if text.is_empty() || last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
        let DeltaThrottle { live, run_id, effect, attempt, role, .. } = self;
        live.send_delta(&Delta { run_id: *run_id, effect, attempt: *attempt, role: *role, text });
        text.clear();
    }
}
