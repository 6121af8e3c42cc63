//! Limits, and the ledger that enforces them: money is reserved before a call and settled after it, so
//! `spent + reserved` never passes a limit, however many calls are in flight.

use crate::model::{Models, Price};
use crate::money::Usd;
use serde::{Deserialize, Serialize};

/// Names and defaults as in docs/protocol.md.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Budgets {
    pub max_cost_usd: Option<Usd>,
    pub max_tokens: Option<u64>,
    pub max_wall_ms: Option<i64>,
    pub max_iterations: u32,
    pub max_depth: u32,
    pub max_nodes: u32,
    pub max_bands: u32,
    pub max_steps_per_band: u32,
    pub max_replans: u32,
    pub max_parallel: u32,
    pub no_progress_limit: u32,
    pub repeat_limit: u32,
}

impl Default for Budgets {
    fn default() -> Self {
        Budgets {
            max_cost_usd: Some(Usd(5_000_000)),
            max_tokens: None,
            max_wall_ms: Some(3_600_000),
            max_iterations: 20,
            max_depth: 4,
            max_nodes: 100,
            max_bands: 3,
            max_steps_per_band: 4,
            max_replans: 1,
            max_parallel: 4,
            no_progress_limit: 3,
            repeat_limit: 2,
        }
    }
}

/// A change to some limits; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetPatch {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<Usd>,
    /// `null` takes the limit away.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub max_tokens: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_wall_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_nodes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bands: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps_per_band: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_replans: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_parallel: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_progress_limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_limit: Option<u32>,
}

/// A field that is present is a change, even when it is `null`.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::<u64>::deserialize(deserializer).map(Some)
}

impl Budgets {
    /// The first limit that allows no work at all, with the smallest valid value; `None` when all limits are usable.
    pub fn invalid_limit(&self) -> Option<String> {
        let least_one = [
            ("max_iterations", self.max_iterations, "one iteration"),
            ("max_nodes", self.max_nodes, "one node, the root,"),
            ("max_bands", self.max_bands, "one band"),
            ("max_steps_per_band", self.max_steps_per_band, "one step"),
            ("max_parallel", self.max_parallel, "one call at a time"),
            ("no_progress_limit", self.no_progress_limit, "stopping after one iteration without progress"),
            ("repeat_limit", self.repeat_limit, "stopping at the first repeat"),
        ];
        if let Some((name, _, what)) = least_one.iter().find(|(_, limit, _)| *limit == 0) {
            return Some(format!("{name} is 0: {what} is the least that works, so 1 or more is valid"));
        }
        let wall = self.max_wall_ms.filter(|limit| *limit <= 0)?;
        Some(format!("max_wall_ms is {wall}: 60000, one minute, is the least that makes sense"))
    }

    /// These limits after a change. Without a known price cost cannot be counted, so tokens are capped instead.
    pub fn patched(&self, patch: &BudgetPatch, models: &Models) -> Budgets {
        let implied = (!models.price_known()).then_some(IMPLIED_MAX_TOKENS);
        Budgets {
            max_cost_usd: patch.max_cost_usd.or(self.max_cost_usd),
            max_tokens: patch.max_tokens.unwrap_or(self.max_tokens).or(implied),
            max_wall_ms: patch.max_wall_ms.or(self.max_wall_ms),
            max_iterations: patch.max_iterations.unwrap_or(self.max_iterations),
            max_depth: patch.max_depth.unwrap_or(self.max_depth),
            max_nodes: patch.max_nodes.unwrap_or(self.max_nodes),
            max_bands: patch.max_bands.unwrap_or(self.max_bands),
            max_steps_per_band: patch.max_steps_per_band.unwrap_or(self.max_steps_per_band),
            max_replans: patch.max_replans.unwrap_or(self.max_replans),
            max_parallel: patch.max_parallel.unwrap_or(self.max_parallel),
            no_progress_limit: patch.no_progress_limit.unwrap_or(self.no_progress_limit),
            repeat_limit: patch.repeat_limit.unwrap_or(self.repeat_limit),
        }
    }
}

/// The token limit of a run whose price is unknown and that was given none.
pub const IMPLIED_MAX_TOKENS: u64 = 2_000_000;
/// What one last call (report, aggregation, reflection) may use when everything else is spent.
pub const WRAP_UP_TOKENS: u64 = 16_000;
/// How the wrap-up reserve is priced: the last call's prompt and its answer.
const WRAP_UP_OUTPUT_TOKENS: u64 = 4_000;

/// What one call may cost at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reserve {
    pub tokens: u64,
    pub cost_usd: Usd,
}

impl Reserve {
    /// Prompt bytes / 3 plus the `max_tokens` that are sent.
    pub fn for_call(prompt_bytes: usize, max_tokens: u32, price: Option<Price>) -> Reserve {
        let input = (prompt_bytes as u64).div_ceil(3);
        let output = u64::from(max_tokens);
        Reserve { tokens: input + output, cost_usd: Usd(price.unwrap_or(Price::FREE).cost(input, 0, output)) }
    }

    pub fn plus(self, other: Reserve) -> Reserve {
        Reserve { tokens: self.tokens.saturating_add(other.tokens), cost_usd: self.cost_usd + other.cost_usd }
    }

    /// A twentieth more.
    pub fn with_margin(self) -> Reserve {
        let cost = self.cost_usd.0;
        Reserve { tokens: self.tokens + self.tokens / 20, cost_usd: Usd(cost.saturating_add(cost / 20)) }
    }

    pub fn wrap_up(models: &Models) -> Reserve {
        let input = WRAP_UP_TOKENS - WRAP_UP_OUTPUT_TOKENS;
        let price = models.powerful.price.unwrap_or(Price::FREE);
        Reserve { tokens: WRAP_UP_TOKENS, cost_usd: Usd(price.cost(input, 0, WRAP_UP_OUTPUT_TOKENS)) }
    }
}

/// What one call did cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Settled {
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub tokens_cached: u64,
    pub cost_usd: Usd,
    /// The actual cost is unknown, so the whole reservation is charged; shown separately.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub presumed: bool,
    /// The server gave no usage; the figures are ours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Settled {
    pub fn presumed(reserve: Reserve) -> Settled {
        Settled { tokens_in: reserve.tokens, cost_usd: reserve.cost_usd, presumed: true, ..Settled::default() }
    }
}

/// The limit that has no room for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    BudgetCost,
    BudgetTokens,
    BudgetWallClock,
}

impl Exhausted {
    /// The limit in words for people.
    pub fn words(self) -> &'static str {
        match self {
            Exhausted::BudgetCost => "the run's cost limit",
            Exhausted::BudgetTokens => "the run's token limit",
            Exhausted::BudgetWallClock => "the run's time limit",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Fits,
    /// Other calls hold reservations; when they settle there may be room.
    Wait,
    Never(Exhausted),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    pub spent: Reserve,
    pub reserved: Reserve,
    pub open: u32,
}

impl Ledger {
    pub fn reserve(&mut self, reserve: Reserve) {
        self.reserved.tokens = self.reserved.tokens.saturating_add(reserve.tokens);
        self.reserved.cost_usd += reserve.cost_usd;
        self.open += 1;
    }

    /// Usage above the reserve is charged in full.
    pub fn settle(&mut self, reserve: Reserve, settled: &Settled) {
        self.reserved.tokens = self.reserved.tokens.saturating_sub(reserve.tokens);
        self.reserved.cost_usd = self.reserved.cost_usd.saturating_sub(reserve.cost_usd);
        self.open = self.open.saturating_sub(1);
        self.spent.tokens = self.spent.tokens.saturating_add(settled.tokens_in).saturating_add(settled.tokens_out);
        self.spent.cost_usd += settled.cost_usd;
    }

    /// `wrap_up_reserve` is nothing for the last call itself.
    pub fn admit(&self, call: Reserve, budgets: &Budgets, wrap_up_reserve: Reserve) -> Admission {
        let over = |with_open: bool| {
            let (open_tokens, open_cost) =
                if with_open { (self.reserved.tokens, self.reserved.cost_usd) } else { (0, Usd(0)) };
            let tokens = self
                .spent
                .tokens
                .saturating_add(open_tokens)
                .saturating_add(call.tokens)
                .saturating_add(wrap_up_reserve.tokens);
            let cost = self.spent.cost_usd + open_cost + call.cost_usd + wrap_up_reserve.cost_usd;
            if budgets.max_cost_usd.is_some_and(|limit| cost > limit) {
                Some(Exhausted::BudgetCost)
            } else if budgets.max_tokens.is_some_and(|limit| tokens > limit) {
                Some(Exhausted::BudgetTokens)
            } else {
                None
            }
        };
        match over(true) {
            None => Admission::Fits,
            Some(_) if self.open > 0 && over(false).is_none() => Admission::Wait,
            Some(limit) => over(false).map_or(Admission::Never(limit), Admission::Never),
        }
    }
}
