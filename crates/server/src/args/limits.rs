//! The limits of a run as flags.

use clap::Args;
use engine::budget::BudgetPatch;
use engine::money::Usd;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Limits {
    /// Limit of cost in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub max_cost: Option<Usd>,
    /// Limit of tokens, read and written
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Limit of running time in minutes; waiting and pauses do not count
    #[arg(long, value_name = "N", value_parser = minutes, allow_negative_numbers = true)]
    pub max_minutes: Option<i64>,
    /// Limit of iterations of a homework run
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<u32>,
    /// Limit of depth of a tree
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u32>,
    /// Limit of nodes of a tree
    #[arg(long, value_name = "N")]
    pub max_nodes: Option<u32>,
    /// Limit of calls in flight at once
    #[arg(long, value_name = "N")]
    pub max_parallel: Option<u32>,
}

impl Limits {
    pub(crate) fn patch(&self) -> BudgetPatch {
        BudgetPatch {
            max_cost_usd: self.max_cost,
            max_tokens: self.max_tokens.map(Some),
            max_wall_ms: self.max_minutes,
            max_iterations: self.max_iterations,
            max_depth: self.max_depth,
            max_nodes: self.max_nodes,
            max_parallel: self.max_parallel,
            ..BudgetPatch::default()
        }
    }
}

fn dollars(text: &str) -> Result<Usd, String> {
    let amount: f64 =
        text.trim_start_matches('$').parse().map_err(|_| "dollars as a decimal number, e.g. 2.00".to_owned())?;
    match (0.0..=1e9).contains(&amount) {
        true => Ok(Usd::from_dollars(amount)),
        false => Err("dollars from 0 to 1000000000".into()),
    }
}

/// Minutes as milliseconds.
fn minutes(text: &str) -> Result<i64, String> {
    let amount: f64 = text.parse().map_err(|_| "minutes as a number, e.g. 30 or 0.5".to_owned())?;
    match amount.is_finite() && amount > 0.0 && amount <= 1e7 {
        true => Ok((amount * 60_000.0).round() as i64),
        false => Err("minutes above 0, at most 10000000".into()),
    }
}
