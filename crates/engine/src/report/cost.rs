//! What a run cost: all of it, each model's part, the parts that are nobody's iteration or node, and what is only presumed. An
//! unknown price is never a number.

use super::words::{capital, count, duration, thousands};
use crate::metrics::{Metrics, ModelMetrics};
use crate::money::Usd;
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn of(metrics: &Metrics, owned: &Value) -> Value {
    let all = metrics.calls();
    let is_told = metrics.cost_known || metrics.cost_usd > Usd(0);
    let owned = Option::<ModelMetrics>::deserialize(owned).ok().flatten();
    let unowned = owned.as_ref().map(|owned| all.beyond(owned));
    json!({
        "known": metrics.cost_known,
        "total_usd": is_told.then_some(metrics.cost_usd),
        "by_model": metrics.by_model,
        "verifier": metrics.verifier,
        "wrap_up": metrics.wrap_up,
        "presumed_usd": metrics.cost_presumed_usd,
        "presumed_tokens": metrics.tokens_presumed,
        "owned": owned,
        "unowned": unowned,
    })
}

/// A price in words; nobody is told that an unknown price is nothing.
pub fn price(cost: Usd, known: bool) -> String {
    match (known, cost) {
        (true, cost) => cost.to_string(),
        (false, Usd(0)) => "unknown price".into(),
        (false, cost) => format!("at least {cost}"),
    }
}

/// The lines of the report.
pub(super) fn lines(report: &Value) -> Vec<String> {
    let metrics = Metrics::deserialize(&report["metrics"]).unwrap_or_default();
    let all = metrics.calls();
    if all.is_empty() && metrics.tool_calls == 0 {
        return vec!["Nothing: no call was answered".into()];
    }
    let part = |used: &ModelMetrics| {
        format!("{}, {}", price(used.cost_usd, metrics.cost_known), count(used.llm_calls, "call"))
    };
    let mut lines = vec![total(&metrics), tokens(&metrics)];
    let used = || metrics.by_model.iter().filter(|(_, used)| !used.is_empty());
    match used().count() {
        1 => lines.extend(used().map(|(model, _)| format!("All of it by {model}"))),
        _ => lines.extend(used().map(|(model, used)| format!("{model}: {}", part(used)))),
    }
    let (is_task, is_tree) = (!report["agent"].is_null(), !report["nodes"].is_null());
    let unowned = ModelMetrics::deserialize(&report["cost"]["unowned"]).unwrap_or_default();
    // The verifier works for no node, and within iterations.
    let told = if is_tree { &metrics.verifier } else { &metrics.wrap_up };
    for (what, used) in [
        ("Checking the criteria", &metrics.verifier),
        (if is_task { "Looking back at the end" } else { "Writing this report" }, &metrics.wrap_up),
        (if is_tree { "For no node" } else { "In no iteration" }, &unowned.beyond(told)),
    ] {
        if !used.is_empty() {
            lines.push(format!("{what}: {}, included above", part(used)));
        }
    }
    if metrics.tokens_presumed > 0 || metrics.cost_presumed_usd > Usd(0) {
        lines.push(format!(
            "Calls whose answer was lost: {} and {}, presumed and included above",
            price(metrics.cost_presumed_usd, metrics.cost_known),
            count(metrics.tokens_presumed, "token")
        ));
    }
    lines
}

fn total(metrics: &Metrics) -> String {
    format!(
        "{}: {} and {}, {} of work",
        capital(&price(metrics.cost_usd, metrics.cost_known)),
        count(metrics.llm_calls, "model call"),
        count(metrics.tool_calls, "tool call"),
        duration(metrics.running_ms)
    )
}

fn tokens(metrics: &Metrics) -> String {
    let cached = match metrics.tokens_cached {
        0 => String::new(),
        cached => format!(" ({} of them from the provider's cache)", thousands(cached)),
    };
    format!("{} read{cached}, {} written", count(metrics.tokens_in, "token"), thousands(metrics.tokens_out))
}
