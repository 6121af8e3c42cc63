//! A run between two of its events: its clock goes on, and the calls in flight cost money. Computed for readers, never
//! stored, and nothing is decided by it.

use super::effect_state::{CallInFlight, EffectState};
use super::shared::Shared;
use crate::budget::Reserve;
use crate::metrics::{Metrics, Running};
use crate::model::{ModelSpec, Price};
use crate::money::Usd;
use crate::time::Timestamp;

/// The pace at which a model is taken to write.
const TOKENS_PER_SECOND: u64 = 50;

impl Shared {
    /// The metrics with the working time up to `now`.
    pub fn metrics_at(&self, now: Timestamp) -> Metrics {
        Metrics { running_ms: self.running_ms(now), ..self.metrics.clone() }
    }

    /// What is going on at `now`; `None` while the run's clock stands still. `settled` is the cost so far.
    pub fn running_at(&self, now: Timestamp, settled: Usd) -> Option<Running> {
        let calls = || self.effects.values().filter_map(model_call);
        let spent = |call: &CallInFlight| self.spent_by(call, now);
        self.is_working().then(|| Running {
            at: now,
            calls: calls().count() as u32,
            estimated_cost_usd: calls().fold(settled, |sum, call| sum + spent(call)),
        })
    }

    fn spent_by(&self, call: &CallInFlight, now: Timestamp) -> Usd {
        let is_its = |spec: &&ModelSpec| call.model.as_deref() == Some(spec.name().as_str());
        let price = self.brief.models.all().into_iter().find(is_its).and_then(|spec| spec.price);
        estimate(call.reserve, price.unwrap_or(Price::FREE), now.since(call.since))
    }
}

fn model_call(state: &EffectState) -> Option<&CallInFlight> {
    match state {
        EffectState::InFlight(call) if call.model.is_some() => Some(call),
        _ => None,
    }
}

/// The prompt, and an answer that was begun with the call and is written at the usual pace; never more than was reserved.
fn estimate(reserve: Reserve, price: Price, elapsed_ms: i64) -> Usd {
    let most = most_output(reserve, price);
    let written = (elapsed_ms.max(0) as u64).saturating_mul(TOKENS_PER_SECOND) / 1_000;
    Usd(price.cost(reserve.tokens - most, 0, written.min(most))).min(reserve.cost_usd)
}

/// The tokens of a reservation that are kept for the answer: `tokens` and `cost_usd` are two sums of the same two numbers.
fn most_output(reserve: Reserve, price: Price) -> u64 {
    let as_input = u128::from(reserve.tokens) * u128::from(price.input);
    let dearer = (u128::from(reserve.cost_usd.0) * 1_000_000).saturating_sub(as_input);
    match u128::from(price.output.saturating_sub(price.input)) {
        0 => 0,
        difference => u64::try_from(dearer / difference).unwrap_or(u64::MAX).min(reserve.tokens),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price { input: 3_000_000, cached: 300_000, output: 15_000_000 };

    #[test]
    fn h8_a_call_in_flight_is_estimated_from_its_reservation_and_never_above_it() {
        // Given a reservation for 1,000 tokens of prompt and at most 8,192 of answer
        let reserve = Reserve::for_call(3_000, 8_192, Some(PRICE));
        // Then it has cost the prompt at first, grows with time, and ends at what was reserved
        assert_eq!(estimate(reserve, PRICE, 0), Usd(PRICE.cost(1_000, 0, 0)));
        assert_eq!(estimate(reserve, PRICE, 10_000), Usd(PRICE.cost(1_000, 0, 500)));
        assert_eq!(estimate(reserve, PRICE, 3_600_000), reserve.cost_usd);
    }

    #[test]
    fn h8_an_odd_price_breaks_no_estimate() {
        for price in [Price::FREE, Price { input: 7, cached: 7, output: 7 }, Price { input: 9, cached: 1, output: 2 }] {
            for reserve in [Reserve::default(), Reserve::for_call(10, 20, Some(price)), Reserve::for_call(9, 9, None)] {
                assert!(estimate(reserve, price, i64::MAX) <= reserve.cost_usd, "{reserve:?} {price:?}");
            }
        }
    }
}
