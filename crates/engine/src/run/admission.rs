//! Checks of what enters a run: a brief that can work, limits under which it can go on, and messages short enough to be shown
//! to a model.

use super::commands::{Refusal, Remedy, refuse};
use super::terms::Kind;
use super::{Machine, Run};
use crate::budget::{Admission, Budgets, Reserve};
use crate::facts::run::Queued;
use crate::lessons::MAX_AGENTS_PER_RUN;

/// A first call of ordinary size: what a budget must hold besides the wrap-up reserve.
pub(crate) fn least_call(models: &crate::model::Models) -> Reserve {
    const FIRST_PROMPT_BYTES: usize = 18_000;
    let model = &models.powerful;
    Reserve::for_call(FIRST_PROMPT_BYTES, crate::prompt::Size::Ordinary.answer_tokens(model), model.price)
}

/// In characters.
pub const MAX_OBJECTIVE_CHARS: usize = 32_768;
/// In characters. A prompt shows as much of it as it has room for.
pub const MAX_MESSAGE_CHARS: usize = 32_768;

pub(super) fn check_message(text: &str) -> Result<(), Refusal> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        return refuse("empty_message", "the message is empty; nothing was queued");
    }
    if length > MAX_MESSAGE_CHARS {
        return refuse(
            "message_too_long",
            format!(
                "the text has {length} characters; {MAX_MESSAGE_CHARS} is the most. Put the material into a document and refer to it"
            ),
        );
    }
    Ok(())
}

/// Only planners delegate, and a prompt has room for a limited number of subagents.
pub fn check_agents(kind: Kind, count: usize) -> Result<(), Refusal> {
    match kind {
        Kind::Task if count > 0 => refuse("bad_agent", "agents are for homework and trees; a task has one agent"),
        _ if count > MAX_AGENTS_PER_RUN => refuse(
            "bad_agent",
            format!("{count} agents were named; {MAX_AGENTS_PER_RUN} is the most a run may give work to"),
        ),
        _ => Ok(()),
    }
}

/// Refuses a brief that could never work, naming the smallest values that do.
pub fn check_brief(brief: &Queued) -> Result<(), Refusal> {
    let length = brief.objective.chars().count();
    if brief.objective.trim().is_empty() {
        return refuse("empty_objective", "the objective is empty: say what should be done");
    }
    if length > MAX_OBJECTIVE_CHARS {
        return refuse(
            "objective_too_long",
            format!(
                "the objective has {length} characters; {MAX_OBJECTIVE_CHARS} is the most. Put the material into a document and refer to it"
            ),
        );
    }
    if brief.kind == Kind::Task && brief.agent.is_none() {
        return refuse("agent_required", "a task is given to a subagent, and none is named");
    }
    check_agents(brief.kind, brief.agents.len())?;
    let budgets = &brief.budgets;
    if let Some(why) = budgets.invalid_limit() {
        return refuse("budget_too_small", why);
    }
    let least_window = crate::prompt::MIN_CONTEXT_TOKENS;
    if let Some(model) = brief.models.all().into_iter().find(|model| model.context_window < least_window) {
        return refuse(
            "context_window_too_small",
            format!(
                "{} has a context_window of {} tokens: {least_window} is the least that holds a prompt and its answer",
                model.name(),
                model.context_window
            ),
        );
    }
    let least = least_call(&brief.models);
    let wrap_up = Reserve::wrap_up(&brief.models);
    if let Some(limit) = budgets.max_tokens.filter(|limit| *limit < least.tokens + wrap_up.tokens) {
        return refuse(
            "budget_too_small",
            format!(
                "max_tokens {limit} leaves no room for one call and the wrap-up reserve: {} is the least that works",
                least.tokens + wrap_up.tokens
            ),
        );
    }
    let least_cost = least.cost_usd + wrap_up.cost_usd;
    if let Some(limit) = budgets.max_cost_usd.filter(|limit| *limit < least_cost) {
        return refuse(
            "budget_too_small",
            format!(
                "max_cost_usd {} leaves no room for one call and the wrap-up reserve: {} is the least that works",
                limit.dollars(),
                least_cost.dollars()
            ),
        );
    }
    Ok(())
}

impl Run {
    /// Would the run stop again before its first call? Then say which limit to raise, and to what.
    pub(super) fn still_spent(&self, budgets: &Budgets) -> Option<(String, Remedy)> {
        let shared = &self.shared;
        let run = shared.id;
        let next = self.rules().next_call(shared).unwrap_or_else(|| least_call(&shared.brief.models));
        let used = self.iteration();
        if self.begins_iteration() && used >= budgets.max_iterations {
            let why = format!("run {run} has used {used} iterations and max_iterations is {}", budgets.max_iterations);
            return Some((why, Remedy::RaiseIterations { run, to: used + 1 }));
        }
        let worked = shared.metrics.running_ms;
        if let Some(limit) = budgets.max_wall_ms.filter(|limit| worked >= *limit) {
            let why = format!("run {run} has worked for {worked} ms and max_wall_ms is {limit}");
            // Round the used time up to a minute, and add one to work in.
            return Some((why, Remedy::RaiseMinutes { run, to: worked / 60_000 + 2 }));
        }
        match shared.ledger.admit(next, budgets, shared.kept_reserve_within(budgets)) {
            Admission::Never(_) => {
                let (spent, wrap_up) = (shared.ledger.spent, shared.wrap_up_reserve());
                // The room kept for the verifier grows with the limit, up to the size of the wrap-up reserve.
                let kept = if shared.verifies() { wrap_up.plus(wrap_up) } else { wrap_up };
                let Reserve { tokens, cost_usd: cost } = spent.plus(next).plus(kept);
                // A limit that there is not, or that is high enough, stays: obeyed, advice must not stop the run sooner.
                let cost = budgets.max_cost_usd.filter(|limit| *limit < cost).map(|_| cost.rounded_up());
                let tokens = budgets.max_tokens.filter(|limit| *limit < tokens).map(|_| tokens);
                let why = format!(
                    "run {run} has spent {} and {} tokens; one more call and the report need more",
                    spent.cost_usd, spent.tokens
                );
                Some((why, Remedy::RaiseSpending { run, cost, tokens }))
            }
            Admission::Fits | Admission::Wait => None,
        }
    }

    /// Whether a continued run would begin another iteration.
    fn begins_iteration(&self) -> bool {
        match &self.machine {
            Machine::Homework(state) => state.begins_iteration(),
            Machine::Tree(_) | Machine::Task(_) => false,
        }
    }
}
