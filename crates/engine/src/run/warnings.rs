//! Warnings that a limit is near, before it ends the run.

use super::{Run, Shared};
use crate::actor::Actor;
use crate::budget::Exhausted;
use crate::facts::run::BudgetWarning;
use crate::time::Timestamp;

/// The used share of a limit from which it counts as near.
const NEAR_LIMIT_SHARE: f64 = 0.8;

impl Run {
    pub(super) fn warn_of_limits(&mut self, full: Option<Exhausted>, now: Timestamp) {
        for warning in self.shared.near_limits(full, now) {
            self.emit(warning, Actor::Platform, now);
        }
    }
}

impl Shared {
    /// Once per limit: at four fifths of what calls may use of it (the rest is the wrap-up reserve), or when it has
    /// no room for a call.
    pub(crate) fn near_limits(&self, full: Option<Exhausted>, now: Timestamp) -> Vec<BudgetWarning> {
        let (spent, wrap_up) = (self.ledger.spent, self.kept_reserve());
        let cost = self.budgets.max_cost_usd.map(|limit| (limit.dollars(), wrap_up.cost_usd.dollars()));
        let tokens = self.budgets.max_tokens.map(|limit| (limit as f64, wrap_up.tokens as f64));
        let wall = self.budgets.max_wall_ms.map(|limit| (limit as f64, 0.0));
        let used = [
            ("max_cost_usd", Exhausted::BudgetCost, spent.cost_usd.dollars(), cost),
            ("max_tokens", Exhausted::BudgetTokens, spent.tokens as f64, tokens),
            ("max_wall_ms", Exhausted::BudgetWallClock, self.running_ms(now) as f64, wall),
        ];
        let near = used.into_iter().filter_map(|(budget, limit_of, used, limit)| {
            let (limit, wrap_up) = limit?;
            let is_near = full == Some(limit_of) || used >= (limit - wrap_up) * NEAR_LIMIT_SHARE;
            let is_known = self.warned.iter().any(|known| known == budget);
            (is_near && !is_known).then(|| BudgetWarning { budget: budget.into(), used, limit })
        });
        near.collect()
    }
}
