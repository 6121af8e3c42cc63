//! Usage of a run, an iteration or a node, counted by the fold from settled effects only.

use crate::budget::Settled;
use crate::money::Usd;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
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

    /// All tokens, those of lost attempts included.
    pub fn tokens(&self) -> u64 {
        self.tokens_in + self.tokens_out + self.tokens_presumed
    }

    /// What was used since `start`: the share of one iteration.
    pub fn since(&self, start: &Metrics) -> Metrics {
        let by_model = self.by_model.iter().map(|(name, now)| {
            let then = start.by_model.get(name).cloned().unwrap_or_default();
            let used = ModelMetrics {
                tokens_in: now.tokens_in - then.tokens_in,
                tokens_out: now.tokens_out - then.tokens_out,
                tokens_cached: now.tokens_cached - then.tokens_cached,
                cost_usd: now.cost_usd.saturating_sub(then.cost_usd),
                llm_calls: now.llm_calls - then.llm_calls,
            };
            (name.clone(), used)
        });
        Metrics {
            tokens_in: self.tokens_in - start.tokens_in,
            tokens_out: self.tokens_out - start.tokens_out,
            tokens_cached: self.tokens_cached - start.tokens_cached,
            tokens_presumed: self.tokens_presumed - start.tokens_presumed,
            cost_usd: self.cost_usd.saturating_sub(start.cost_usd),
            cost_presumed_usd: self.cost_presumed_usd.saturating_sub(start.cost_presumed_usd),
            cost_known: self.cost_known,
            running_ms: self.running_ms - start.running_ms,
            llm_calls: self.llm_calls - start.llm_calls,
            tool_calls: self.tool_calls - start.tool_calls,
            no_progress_streak: self.no_progress_streak,
            by_model: by_model.filter(|(_, used)| used != &ModelMetrics::default()).collect(),
        }
    }
}
