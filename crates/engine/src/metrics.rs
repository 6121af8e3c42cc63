//! What a run, an iteration or a node used. Kept by the fold, from settled effects only.

use crate::budget::Settled;
use crate::money::Usd;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub tokens_cached: u64,
    pub tokens_presumed: u64,
    pub cost_usd: Usd,
    pub cost_presumed_usd: Usd,
    pub cost_known: bool,
    pub running_ms: i64,
    pub llm_calls: u64,
    pub tool_calls: u64,
    pub no_progress_streak: u32,
    pub by_model: BTreeMap<String, ModelMetrics>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelMetrics {
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub tokens_cached: u64,
    pub cost_usd: Usd,
    pub llm_calls: u64,
}

impl Metrics {
    /// Money and tokens of one attempt; presumed ones are counted, and shown apart.
    pub fn charge(&mut self, model: &str, settled: &Settled, answered: bool) {
        let by_model = self.by_model.entry(model.to_owned()).or_default();
        self.cost_usd += settled.cost_usd;
        by_model.cost_usd += settled.cost_usd;
        if settled.presumed {
            self.tokens_presumed += settled.tokens_in + settled.tokens_out;
            self.cost_presumed_usd += settled.cost_usd;
        } else {
            self.tokens_in += settled.tokens_in;
            self.tokens_out += settled.tokens_out;
            self.tokens_cached += settled.tokens_cached;
            by_model.tokens_in += settled.tokens_in;
            by_model.tokens_out += settled.tokens_out;
            by_model.tokens_cached += settled.tokens_cached;
        }
        if answered {
            self.llm_calls += 1;
            by_model.llm_calls += 1;
        }
    }
}
