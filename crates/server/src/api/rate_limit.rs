//! A rate limiter: token buckets by key. It knows nothing of what is being limited.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// Above this many keys, those with a full bucket are dropped, since a new bucket is full too. When more than half are left,
/// all are dropped: going over them at every request would cost more than the limit saves.
const MAX_KEYS: usize = 10_000;

pub(crate) struct RateLimit {
    burst: f64,
    per_second: f64,
    levels: Mutex<HashMap<String, (f64, Instant)>>,
}

/// Seconds until the next one is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateLimited(pub u64);

impl RateLimit {
    pub(crate) fn new(burst: u32, per_second: f64) -> RateLimit {
        RateLimit { burst: f64::from(burst), per_second, levels: Mutex::new(HashMap::new()) }
    }

    pub(crate) fn take(&self, who: &str) -> Result<(), RateLimited> {
        let now = Instant::now();
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let refilled = |(level, at): (f64, Instant)| {
            (level + now.duration_since(at).as_secs_f64() * self.per_second).min(self.burst)
        };
        if levels.len() > MAX_KEYS {
            levels.retain(|_, level| refilled(*level) < self.burst);
            if levels.len() > MAX_KEYS / 2 {
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
    async fn after_a_burst_one_key_is_limited_and_others_are_not() {
        let limit = RateLimit::new(2, 0.5);
        assert_eq!((limit.take("ann"), limit.take("ann")), (Ok(()), Ok(())));
        assert_eq!(limit.take("ann"), Err(RateLimited(2)));
        assert_eq!(limit.take("bob"), Ok(()));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!((limit.take("ann"), limit.take("ann")), (Ok(()), Err(RateLimited(2))));
    }

    #[tokio::test(start_paused = true)]
    async fn x16_the_number_of_keys_is_bounded() {
        let limit = RateLimit::new(2, 0.5);
        for number in 0..3 * MAX_KEYS {
            assert_eq!(limit.take(&number.to_string()), Ok(()));
        }
        assert!(limit.levels.lock().unwrap().len() <= MAX_KEYS + 1);
    }
}
