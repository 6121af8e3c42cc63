//! Reads `Retry-After`: how long a client should wait before the next request.

use reqwest::header::HeaderMap;
use std::time::{Duration, SystemTime};

/// A longer wait counts as this one: a day.
const MAX_WAIT_MS: f64 = 86_400_000.0;

/// `retry-after-ms`, which some model providers send, is preferred. `retry-after` has seconds or a date. A date is compared with the server's clock if the response has a `Date`.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return Some(limited(ms));
    }
    let wait = text("retry-after")?;
    if let Ok(seconds) = wait.parse::<f64>() {
        return Some(limited(seconds * 1000.0));
    }
    let until = httpdate::parse_http_date(wait).ok()?;
    let now = text("date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    Some(until.duration_since(now).map_or(Duration::ZERO, |wait| limited(wait.as_millis() as f64)))
}

fn limited(ms: f64) -> Duration {
    Duration::from_millis(ms.clamp(0.0, MAX_WAIT_MS).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let wait = |pairs: &[(&'static str, &str)]| {
            let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
            let now = httpdate::parse_http_date("Sun, 15 Nov 2026 07:00:00 GMT").unwrap();
            retry_after(&headers, now).map(|wait| wait.as_millis())
        };
        assert_eq!(wait(&[("retry-after", "2")]), Some(2_000));
        assert_eq!(wait(&[("retry-after", "0.5")]), Some(500));
        assert_eq!(wait(&[("retry-after", "-3")]), Some(0));
        assert_eq!(wait(&[("retry-after", "1e12")]), Some(86_400_000));
        assert_eq!(wait(&[("retry-after", "Sun, 15 Nov 2026 07:00:30 GMT")]), Some(30_000));
        assert_eq!(
            wait(&[("retry-after", "Sun, 15 Nov 2026 07:00:30 GMT"), ("date", "Sun, 15 Nov 2026 07:00:20 GMT")]),
            Some(10_000)
        );
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[]), None);
    }
}
