//! Which providers are down. Shared by every run of the process, so that one dead provider is asked
//! once in a while by one run, not all the time by all of them.

use engine::run::Parked;
use engine::time::Timestamp;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Consecutive connect or 5xx failures that park a provider.
const FAILURES: u32 = 5;
const FIRST_PAUSE_MS: i64 = 15_000;
const LONGEST_PAUSE_MS: i64 = 300_000;

#[derive(Debug, Default)]
pub struct Breaker {
    providers: Mutex<HashMap<String, Health>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Health {
    failures: u32,
    /// Parked until then; the first call after it is the probe.
    until: Option<Timestamp>,
    pause_ms: i64,
}

impl Breaker {
    fn with<T>(&self, provider: &str, act: impl FnOnce(&mut Health) -> T) -> T {
        let mut providers = self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        act(providers.entry(provider.to_owned()).or_default())
    }

    /// May a call go to this provider now? Letting a probe through parks the others until it is back.
    pub fn admit(&self, provider: &str, now: Timestamp) -> Result<(), Parked> {
        self.with(provider, |health| match health.until {
            Some(until) if until > now => Err(Parked { provider: provider.to_owned(), until }),
            Some(_) => {
                health.until = Some(now.plus_ms(health.pause_ms));
                Ok(())
            }
            None => Ok(()),
        })
    }

    pub fn succeeded(&self, provider: &str) {
        self.with(provider, |health| *health = Health::default());
    }

    /// One more failure to reach it; parked from the fifth in a row on.
    pub fn failed(&self, provider: &str, now: Timestamp) -> Option<Parked> {
        self.with(provider, |health| {
            health.failures += 1;
            if health.failures < FAILURES {
                return None;
            }
            health.pause_ms =
                if health.pause_ms == 0 { FIRST_PAUSE_MS } else { (health.pause_ms * 2).min(LONGEST_PAUSE_MS) };
            let until = now.plus_ms(health.pause_ms);
            health.until = Some(until);
            Some(Parked { provider: provider.to_owned(), until })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b13_five_failures_park_and_one_probe_opens_again() {
        let breaker = Breaker::default();
        let now = Timestamp(1_000);
        assert!((0..4).all(|_| breaker.failed("p", now).is_none()));
        let parked = breaker.failed("p", now).expect("parked at the fifth");
        assert_eq!(breaker.admit("p", now), Err(parked.clone()));
        assert_eq!(breaker.admit("p", parked.until), Ok(()), "the probe");
        assert!(breaker.admit("p", parked.until).is_err(), "only one probe at a time");
        breaker.succeeded("p");
        assert_eq!(breaker.admit("p", parked.until), Ok(()));
    }
}
