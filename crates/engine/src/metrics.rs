//! Usage of a run, an iteration or a node, counted by the fold from settled effects only.

use crate::budget::Settled;
use crate::money::Usd;
use crate::time::Timestamp;
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
    /// The part of all this that checking criteria cost.
    #[serde(skip_serializing_if = "ModelMetrics::is_empty")]
    pub verifier: ModelMetrics,
    /// Of a homework run: what no iteration used, which is the call for its report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_iterations: Option<Box<Metrics>>,
    /// The part that the last call cost: the prose of a report, or the reflection of a subagent.
    #[serde(skip_serializing_if = "ModelMetrics::is_empty")]
    pub wrap_up: ModelMetrics,
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

impl ModelMetrics {
    pub fn is_empty(&self) -> bool {
        *self == ModelMetrics::default()
    }

    pub fn add(&mut self, other: &ModelMetrics) {
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
        self.tokens_cached += other.tokens_cached;
        self.cost_usd += other.cost_usd;
        self.llm_calls += other.llm_calls;
    }

    /// What is left of it beside `part`.
    pub fn beyond(&self, part: &ModelMetrics) -> ModelMetrics {
        ModelMetrics {
            tokens_in: self.tokens_in.saturating_sub(part.tokens_in),
            tokens_out: self.tokens_out.saturating_sub(part.tokens_out),
            tokens_cached: self.tokens_cached.saturating_sub(part.tokens_cached),
            cost_usd: self.cost_usd.saturating_sub(part.cost_usd),
            llm_calls: self.llm_calls.saturating_sub(part.llm_calls),
        }
    }

    /// Money and tokens of one attempt; a lost one has no token count of its own.
    pub fn charge(&mut self, settled: &Settled, answered: bool) {
        self.cost_usd += settled.cost_usd;
        if !settled.presumed {
            self.tokens_in += settled.tokens_in;
            self.tokens_out += settled.tokens_out;
            self.tokens_cached += settled.tokens_cached;
        }
        self.llm_calls += u64::from(answered);
    }

    fn since(&self, start: &ModelMetrics) -> ModelMetrics {
        ModelMetrics {
            tokens_in: self.tokens_in - start.tokens_in,
            tokens_out: self.tokens_out - start.tokens_out,
            tokens_cached: self.tokens_cached - start.tokens_cached,
            cost_usd: self.cost_usd.saturating_sub(start.cost_usd),
            llm_calls: self.llm_calls - start.llm_calls,
        }
    }
}

/// What goes on while a run works, as of one moment. Computed when it is read; the log has nothing of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// `running_ms` counts up to here.
    pub at: Timestamp,
    /// Model calls in flight.
    pub calls: u32,
    /// `cost_usd` and an estimate of what the calls in flight have cost so far.
    pub estimated_cost_usd: Usd,
}

impl Metrics {
    /// All models together.
    pub fn calls(&self) -> ModelMetrics {
        ModelMetrics {
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            tokens_cached: self.tokens_cached,
            cost_usd: self.cost_usd,
            llm_calls: self.llm_calls,
        }
    }

    /// Money and tokens of one attempt; presumed ones are counted, and shown apart.
    pub fn charge(&mut self, model: &str, settled: &Settled, answered: bool) {
        self.by_model.entry(model.to_owned()).or_default().charge(settled, answered);
        self.cost_usd += settled.cost_usd;
        if settled.presumed {
            self.tokens_presumed += settled.tokens_in + settled.tokens_out;
            self.cost_presumed_usd += settled.cost_usd;
        } else {
            self.tokens_in += settled.tokens_in;
            self.tokens_out += settled.tokens_out;
            self.tokens_cached += settled.tokens_cached;
        }
        self.llm_calls += u64::from(answered);
    }

    /// Adds what another part of the run used.
    pub fn add(&mut self, other: &Metrics) {
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
        self.tokens_cached += other.tokens_cached;
        self.tokens_presumed += other.tokens_presumed;
        self.cost_usd += other.cost_usd;
        self.cost_presumed_usd += other.cost_presumed_usd;
        self.running_ms += other.running_ms;
        self.llm_calls += other.llm_calls;
        self.tool_calls += other.tool_calls;
        for (model, used) in &other.by_model {
            self.by_model.entry(model.clone()).or_default().add(used);
        }
        self.verifier.add(&other.verifier);
        self.wrap_up.add(&other.wrap_up);
    }

    /// All tokens, those of lost attempts included.
    pub fn tokens(&self) -> u64 {
        self.tokens_in + self.tokens_out + self.tokens_presumed
    }

    /// What was used since `start`: the share of one iteration.
    pub fn since(&self, start: &Metrics) -> Metrics {
        let by_model = self.by_model.iter().map(|(name, now)| {
            let used = start.by_model.get(name).map_or_else(|| now.clone(), |then| now.since(then));
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
            outside_iterations: None,
            by_model: by_model.filter(|(_, used)| !used.is_empty()).collect(),
            verifier: self.verifier.since(&start.verifier),
            wrap_up: self.wrap_up.since(&start.wrap_up),
        }
    }
}
