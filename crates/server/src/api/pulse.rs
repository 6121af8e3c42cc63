//! The pulse of an open stream: one timer, however much is sent. It beats often enough that what the stream relies on is
//! noticed to have ended, and now and then lets the other end know that somebody is there.

use super::caller::Caller;
use super::reliance::Ending;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// With the second it takes to find out, a stream ends within five seconds of what it relies on.
const PERIOD: Duration = Duration::from_millis(2_500);
/// Proxies and browsers take silence for death: a sign of life every ten seconds.
const SILENT_BEATS: u32 = 4;

pub struct Pulse {
    beats: Interval,
    silent: u32,
    /// What the reader came in with; nothing over the owner's own socket.
    credential: Option<Ending>,
}

pub enum Beat {
    /// Look around.
    Quiet,
    /// Let yourself be heard.
    Loud,
    /// The credential is not valid any more.
    Revoked,
}

impl Pulse {
    pub fn of(caller: &Caller) -> Pulse {
        let mut beats = interval(PERIOD);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Pulse { beats, silent: 0, credential: caller.validity() }
    }

    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Beat {
        self.beats.tick().await;
        if self.credential.as_ref().is_some_and(Ending::is_over) {
            return Beat::Revoked;
        }
        self.silent += 1;
        if self.silent <= SILENT_BEATS {
            return Beat::Quiet;
        }
        self.silent = 0;
        Beat::Loud
    }
}
