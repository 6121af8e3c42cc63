//! Milliseconds since 1970 UTC, written as RFC 3339. `now` is always an argument: the engine has no clock.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Timestamp(#[cfg_attr(feature = "schema", schemars(with = "String"))] pub i64);

impl Timestamp {
    pub fn plus_ms(self, ms: i64) -> Timestamp {
        Timestamp(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to `self`, never negative: clocks may step back.
    pub fn since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }

    pub fn parse(text: &str) -> Option<Timestamp> {
        let (date, rest) = text.split_once(['T', ' '])?;
        let clock = rest.strip_suffix('Z').or_else(|| rest.strip_suffix("+00:00"))?;
        let mut ymd = date.split('-').map(|n| n.parse::<i64>().ok());
        let (y, m, d) = (ymd.next()??, ymd.next()??, ymd.next()??);
        let mut hms = clock.split(':');
        let (h, min, sec) =
            (hms.next()?.parse::<i64>().ok()?, hms.next()?.parse::<i64>().ok()?, hms.next()?.parse::<f64>().ok()?);
        let in_range = (1..=12).contains(&m) && (1..=31).contains(&d) && (0..24).contains(&h) && (0..60).contains(&min);
        (in_range && (0.0..61.0).contains(&sec)).then(|| {
            Timestamp(((days_from_civil(y, m, d) * 24 + h) * 60 + min) * 60_000 + (sec * 1000.0).round() as i64)
        })
    }
}

/// Days since 1970-01-01 of a proleptic Gregorian date (years start in March, so leap days come last).
fn days_from_civil(y: i64, m: i64, d: i64) -> i64 {
    let y = if m <= 2 { y - 1 } else { y };
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let doy = (153 * ((m + 9) % 12) + 2) / 5 + d - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let m = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(m <= 2), m, doy - (153 * mp + 2) / 5 + 1)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ms) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (y, m, d) = civil_from_days(days);
        let (h, min, s, milli) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
        write!(f, "{y:04}-{m:02}-{d:02}T{h:02}:{min:02}:{s:02}.{milli:03}Z")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse(&text).ok_or_else(|| D::Error::custom(format!("not an RFC 3339 UTC time: {text}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_instants_print_as_rfc_3339() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(951_782_400_123).to_string(), "2000-02-29T00:00:00.123Z");
    }

    proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(ms in 0i64..4_102_444_800_000) {
            prop_assert_eq!(Timestamp::parse(&Timestamp(ms).to_string()), Some(Timestamp(ms)));
        }
    }
}
