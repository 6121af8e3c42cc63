//! The circuit breaker: which providers are down. Shared by every run of the process, so that one dead provider is asked
//! once in a while by one run, not all the time by all of them.

use engine::run::Parked;
use engine::time::Timestamp;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Consecutive connect or 5xx failures that park a provider.
const MAX_FAILURES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(15);
const MAX_PAUSE: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub struct Breaker {
    providers: Mutex<HashMap<String, Health>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Health {
    failures: u32,
    /// Parked until then; the first call after it is the probe.
    until: Option<Instant>,
    pause: Duration,
}

impl Breaker {
    fn with<T>(&self, provider: &str, act: impl FnOnce(&mut Health) -> T) -> T {
        let mut providers = self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        act(providers.entry(provider.to_owned()).or_default())
    }

    /// May a call go to this provider now? Letting a probe through parks the others until it is back. `now` is the
    /// asking run's own time, in which it is told until when.
    pub fn admit(&self, provider: &str, now: Timestamp) -> Result<(), Parked> {
        self.with(provider, |health| {
            let left = health.until.map(|until| until.saturating_duration_since(Instant::now()));
            match left {
                Some(left) if !left.is_zero() => Err(parked(provider, left, now)),
                Some(_) => {
                    health.until = Some(Instant::now() + health.pause);
                    Ok(())
                }
                None => Ok(()),
            }
        })
    }

    /// A person wants it tried now: the next call is the probe.
    pub fn probe_now(&self, provider: &str) {
        self.with(provider, |health| {
            if health.until.is_some() {
                health.until = Some(Instant::now());
            }
        });
    }

    pub fn succeeded(&self, provider: &str) {
        self.with(provider, |health| *health = Health::default());
    }

    /// One more failure to reach it; parked from the fifth in a row on.
    pub fn failed(&self, provider: &str, now: Timestamp) -> Option<Parked> {
        self.with(provider, |health| {
            health.failures += 1;
            if health.failures < MAX_FAILURES {
                return None;
            }
            health.pause = if health.pause.is_zero() { FIRST_PAUSE } else { (health.pause * 2).min(MAX_PAUSE) };
            health.until = Some(Instant::now() + health.pause);
            Some(parked(provider, health.pause, now))
        })
    }
}

fn parked(provider: &str, left: Duration, now: Timestamp) -> Parked {
    Parked { provider: provider.to_owned(), until: now.plus_ms(left.as_millis() as i64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn b13_five_failures_park_and_one_probe_opens_again() {
        let breaker = Breaker::default();
        let now = Timestamp(1_000);
        assert!((0..4).all(|_| breaker.failed("p", now).is_none()));
        let parked = breaker.failed("p", now).expect("parked at the fifth");
        assert_eq!(breaker.admit("p", now), Err(parked.clone()));
        tokio::time::advance(FIRST_PAUSE).await;
        assert_eq!(breaker.admit("p", parked.until), Ok(()), "the probe");
        assert!(breaker.admit("p", parked.until).is_err(), "only one probe at a time");
        breaker.succeeded("p");
        assert_eq!(breaker.admit("p", parked.until), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn r3_runs_whose_clocks_differ_by_a_day_wait_equally_long_for_a_provider() {
        // Given a provider that a run parked whose clock is a day ahead
        let breaker = Breaker::default();
        let (ahead, behind) = (Timestamp(86_400_000), Timestamp(0));
        (0..MAX_FAILURES).for_each(|_| drop(breaker.failed("p", ahead)));
        // When another run asks
        let parked = breaker.admit("p", behind).expect_err("parked");
        // Then it is told to wait for the pause, not for the day
        assert_eq!(parked.until.since(behind), FIRST_PAUSE.as_millis() as i64);
    }
}
