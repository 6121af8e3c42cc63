//! Draws the fault of each occasion until the storm is over.

use crate::dice::Dice;
use crate::fault_rates::FaultRates;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What happens around one commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitFault {
    pub stall: Option<Duration>,
    pub delay: Option<Duration>,
    pub turn: Turn,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    #[default]
    Well,
    CrashBefore,
    CrashAfter,
    Refused,
    ReplyLost,
    SentTwice,
}

/// Crash exactly here, and nowhere else.
#[derive(Clone, Copy, Debug)]
pub struct CrashAt {
    pub append: u64,
    pub after: bool,
}

pub struct Faults {
    state: Mutex<State>,
}

struct State {
    dice: Dice,
    fault_rates: FaultRates,
    crash_at: Option<CrashAt>,
    appends: u64,
    /// When the database is unreachable, in milliseconds of virtual time.
    store_away: Vec<(u64, u64)>,
}

impl Faults {
    pub fn new(seed: u64, fault_rates: FaultRates, crash_at: Option<CrashAt>) -> Faults {
        let mut dice = Dice::about(seed, "when the database is away");
        let outage = |_| {
            let from = dice.below(fault_rates.faults_end_after_ms.max(1));
            (from, from + dice.between(2_000, 60_000))
        };
        let store_away = (0..fault_rates.store.outages).map(outage).collect();
        let dice = Dice::about(seed, "nature");
        Faults { state: Mutex::new(State { dice, fault_rates, crash_at, appends: 0, store_away }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn fault_rates(&self) -> FaultRates {
        self.state().fault_rates.clone()
    }

    pub fn calm_down(&self) {
        self.state().fault_rates = FaultRates::calm();
    }

    /// Appends asked for so far.
    pub fn appends(&self) -> u64 {
        self.state().appends
    }

    pub fn fate_of_append(&self) -> CommitFault {
        let mut state = self.state();
        state.appends += 1;
        if let Some(at) = state.crash_at {
            let turn = if at.after { Turn::CrashAfter } else { Turn::CrashBefore };
            return CommitFault {
                turn: if at.append == state.appends { turn } else { Turn::Well },
                ..CommitFault::default()
            };
        }
        let State { dice, fault_rates, .. } = &mut *state;
        let stall = dice.happens(fault_rates.process.stall).then(|| Duration::from_millis(dice.below(120_000)));
        let delay = dice.happens(fault_rates.store.slow).then(|| Duration::from_millis(dice.between(5, 5_000)));
        let turns = [
            (fault_rates.process.crash_before_commit, Turn::CrashBefore),
            (fault_rates.process.crash_after_commit, Turn::CrashAfter),
            (fault_rates.store.refused, Turn::Refused),
            (fault_rates.store.reply_lost, Turn::ReplyLost),
            (fault_rates.store.sent_twice, Turn::SentTwice),
        ];
        let turn = turns.into_iter().find(|(chance, _)| dice.happens(*chance)).map_or(Turn::Well, |(_, turn)| turn);
        CommitFault { stall, delay, turn }
    }

    /// Until the storm is over.
    pub fn is_store_away(&self, now_ms: u64) -> bool {
        let State { fault_rates, store_away, .. } = &*self.state();
        fault_rates.faults_end_after_ms > 0 && store_away.iter().any(|(from, to)| (*from..*to).contains(&now_ms))
    }

    pub fn happens(&self, chance: impl FnOnce(&FaultRates) -> u32) -> bool {
        let State { dice, fault_rates, .. } = &mut *self.state();
        dice.happens(chance(fault_rates))
    }
}
