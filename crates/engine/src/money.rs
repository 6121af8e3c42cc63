//! Micro-dollars inside, a decimal number of dollars outside.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Usd(#[cfg_attr(feature = "schema", schemars(with = "f64"))] pub u64);

impl Usd {
    pub fn from_dollars(dollars: f64) -> Usd {
        Usd((dollars.max(0.0) * 1e6).round() as u64)
    }

    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// At least as much, in the four digits that people are shown.
    pub fn rounded_up(self) -> Usd {
        Usd(self.0.div_ceil(100).saturating_mul(100))
    }

    pub fn saturating_sub(self, other: Usd) -> Usd {
        Usd(self.0.saturating_sub(other.0))
    }
}

impl Add for Usd {
    type Output = Usd;
    fn add(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Usd) {
        *self = *self + other;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(amounts: I) -> Usd {
        amounts.fold(Usd::default(), Add::add)
    }
}

/// `$0.04`, with as many digits as a small amount needs to be told from nothing.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("$0.00"),
            1..=9_999 => write!(f, "${:.4}", self.dollars()),
            _ => write!(f, "${:.2}", self.dollars()),
        }
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        if !(0.0..=1e12).contains(&dollars) {
            return Err(serde::de::Error::custom(format!("{dollars} is not an amount of dollars: 0 or more is valid")));
        }
        Ok(Usd::from_dollars(dollars))
    }
}
