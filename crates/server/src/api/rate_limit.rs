//! A rate limiter: token buckets by key. It knows nothing of what is being limited.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// Above this many names, those with a full bucket are forgotten: they would start full again. When that leaves more than
/// half, all are: going over so many for each request would cost more than what they hold back.
const MANY: usize = 10_000;

pub struct RateLimit {
    burst: f64,
    per_second: f64,
    levels: Mutex<HashMap<String, (f64, Instant)>>,
}

/// Seconds after which the next one fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimited(pub u64);

impl RateLimit {
    pub fn new(burst: u32, per_second: f64) -> RateLimit {
        RateLimit { burst: f64::from(burst), per_second, levels: Mutex::new(HashMap::new()) }
    }

    pub fn take(&self, who: &str) -> Result<(), RateLimited> {
        let now = Instant::now();
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let refilled = |(level, at): (f64, Instant)| {
            (level + now.duration_since(at).as_secs_f64() * self.per_second).min(self.burst)
        };
        if levels.len() > MANY {
            levels.retain(|_, level| refilled(*level) < self.burst);
            if levels.len() > MANY / 2 {
                levels.clear();
            }
        }
        let level = levels.get(who).copied().map_or(self.burst, refilled);
        let fits = level >= 1.0;
        levels.insert(who.to_owned(), (if fits { level - 1.0 } else { level }, now));
        match fits {
            true => Ok(()),
            false => Err(RateLimited(((1.0 - level) / self.per_second).ceil().max(1.0) as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_burst_then_a_pace_and_nobody_waits_for_another() {
        let pace = RateLimit::new(2, 0.5);
        assert_eq!((pace.take("ann"), pace.take("ann")), (Ok(()), Ok(())));
        assert_eq!(pace.take("ann"), Err(RateLimited(2)));
        assert_eq!(pace.take("bob"), Ok(()));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!((pace.take("ann"), pace.take("ann")), (Ok(()), Err(RateLimited(2))));
    }

    #[tokio::test(start_paused = true)]
    async fn x16_names_without_end_are_not_kept_without_end() {
        let pace = RateLimit::new(2, 0.5);
        for number in 0..3 * MANY {
            assert_eq!(pace.take(&number.to_string()), Ok(()));
        }
        assert!(pace.levels.lock().unwrap().len() <= MANY + 1);
    }
}
