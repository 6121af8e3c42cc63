//! Decides what goes wrong, one occasion at a time, until the storm is over.

use crate::dice::Dice;
use crate::weather::Weather;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What happens around one commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
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

pub struct Nature {
    state: Mutex<State>,
}

struct State {
    dice: Dice,
    weather: Weather,
    crash_at: Option<CrashAt>,
    appends: u64,
    /// When nobody reaches the database, in milliseconds of the world.
    store_away: Vec<(u64, u64)>,
}

impl Nature {
    pub fn new(seed: u64, weather: Weather, crash_at: Option<CrashAt>) -> Nature {
        let mut dice = Dice::about(seed, "when the database is away");
        let outage = |_| {
            let from = dice.below(weather.storm_ms.max(1));
            (from, from + dice.between(2_000, 60_000))
        };
        let store_away = (0..weather.store.outages).map(outage).collect();
        let dice = Dice::about(seed, "nature");
        Nature { state: Mutex::new(State { dice, weather, crash_at, appends: 0, store_away }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn weather(&self) -> Weather {
        self.state().weather.clone()
    }

    pub fn calm_down(&self) {
        self.state().weather = Weather::calm();
    }

    /// Appends asked for so far.
    pub fn appends(&self) -> u64 {
        self.state().appends
    }

    pub fn fate_of_append(&self) -> Fate {
        let mut state = self.state();
        state.appends += 1;
        if let Some(at) = state.crash_at {
            let turn = if at.after { Turn::CrashAfter } else { Turn::CrashBefore };
            return Fate { turn: if at.append == state.appends { turn } else { Turn::Well }, ..Fate::default() };
        }
        let State { dice, weather, .. } = &mut *state;
        let stall = dice.happens(weather.process.stall).then(|| Duration::from_millis(dice.below(120_000)));
        let delay = dice.happens(weather.store.slow).then(|| Duration::from_millis(dice.between(5, 5_000)));
        let turns = [
            (weather.process.crash_before_commit, Turn::CrashBefore),
            (weather.process.crash_after_commit, Turn::CrashAfter),
            (weather.store.refused, Turn::Refused),
            (weather.store.reply_lost, Turn::ReplyLost),
            (weather.store.sent_twice, Turn::SentTwice),
        ];
        let turn = turns.into_iter().find(|(chance, _)| dice.happens(*chance)).map_or(Turn::Well, |(_, turn)| turn);
        Fate { stall, delay, turn }
    }

    /// Leases: never a crash of their own, but the store may fail before or after.
    pub fn fate_of_lease(&self) -> Turn {
        let State { dice, weather, .. } = &mut *self.state();
        if dice.happens(weather.store.refused) {
            Turn::Refused
        } else if dice.happens(weather.store.reply_lost) {
            Turn::ReplyLost
        } else {
            Turn::Well
        }
    }

    /// Until the storm is over.
    pub fn is_store_away(&self, now_ms: u64) -> bool {
        let State { weather, store_away, .. } = &*self.state();
        weather.storm_ms > 0 && store_away.iter().any(|(from, to)| (*from..*to).contains(&now_ms))
    }

    pub fn is_unreadable(&self) -> bool {
        let State { dice, weather, .. } = &mut *self.state();
        dice.happens(weather.store.unreadable)
    }

    pub fn is_hint_lost(&self) -> bool {
        let State { dice, weather, .. } = &mut *self.state();
        dice.happens(weather.store.hint_lost)
    }

    pub fn roll<T>(&self, choose: impl FnOnce(&mut Dice, &Weather) -> T) -> T {
        let State { dice, weather, .. } = &mut *self.state();
        choose(dice, weather)
    }
}
