//! The time of one run in one process. It starts where the database's clock and the run's log stand when the run is claimed,
//! and then follows the monotonic clock, so that neither a changed wall clock nor a suspended machine uses up a limit,
//! shortens a wait or prolongs one. Between two processes the database's clock is the measure.

use engine::time::Timestamp;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock {
    start: Timestamp,
    since: Instant,
}

impl RunClock {
    pub(crate) fn starting_at(start: Timestamp) -> RunClock {
        RunClock { start, since: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.start.plus_ms(i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    /// Another process wrote an event at `at`: time goes on from there and never back.
    pub(crate) fn advance_to(&mut self, at: Timestamp) {
        if at > self.now() {
            *self = RunClock::starting_at(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn r3_a_runs_time_advances_with_the_monotonic_clock_and_never_goes_back() {
        let mut clock = RunClock::starting_at(Timestamp(1_000));
        tokio::time::advance(Duration::from_millis(250)).await;
        assert_eq!(clock.now(), Timestamp(1_250));
        clock.advance_to(Timestamp(900));
        assert_eq!(clock.now(), Timestamp(1_250), "an older event changes nothing");
        clock.advance_to(Timestamp(5_000));
        tokio::time::advance(Duration::from_millis(250)).await;
        assert_eq!(clock.now(), Timestamp(5_250), "it goes on from the newest event");
    }
}
