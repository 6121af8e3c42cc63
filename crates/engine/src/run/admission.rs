//! Checks of what enters a run: a brief that can work, and messages short enough to be shown to a model.

use super::commands::{Refusal, refuse};
use super::terms::Kind;
use crate::budget::Reserve;
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
