//! How a run ended, in a sentence or two that promise no more than was checked.

use super::words::{count, limit, reason};
use serde_json::Value;

/// Made from the report alone, so that it follows what people decide later.
pub(super) fn sentence(report: &Value) -> String {
    let word = |key: &str| report[key].as_str().unwrap_or_default();
    let because = match reason(word("stop_detail")) {
        why if why.is_empty() => ".".to_owned(),
        // Each of them is told with its own reason.
        why if why.starts_with("all ") && why.contains(" steps failed; ") => ": all its steps failed.".to_owned(),
        // It stands above already.
        why if why == reason(word("summary")) => ", for the reason given above.".to_owned(),
        why => format!(": {}.", why.trim_end_matches('.')),
    };
    let (after, at) = (after(report), at(report));
    let how = match (word("status"), word("stop_reason")) {
        ("completed", _) => return completed(report),
        ("canceled", _) => format!("Canceled by a person{at}."),
        (_, "provider_auth") => format!("Failed: the provider did not accept the key{because}"),
        (_, "provider_quota") => format!("Failed: the provider's quota is used up{because}"),
        ("failed", _) => format!("Failed{at}{because}"),
        (_, "max_iterations" | "max_steps") => format!("Stopped{after}, the most it was allowed."),
        (_, "cannot_be_done") => format!("Given up{after} as something that cannot be done{because}"),
        (_, stop_reason) => match limit(stop_reason) {
            Some(limit) => format!("Stopped{after} by {limit}."),
            None => format!("Stopped{after}{because}"),
        },
    };
    how + &kept(report)
}

fn completed(report: &Value) -> String {
    let after = after(report);
    let (all, holding) = (list(report, "criteria").len(), holding(report));
    match (report["outcome"].as_str(), all) {
        (Some("partial"), _) => match shortcomings(report) {
            why if why.is_empty() => format!("Completed in part{after}."),
            why if nodes(report).is_some() => format!("Completed in part: {}.", why.join(", ")),
            why => format!("Completed in part{after}: {}.", why.join(", ")),
        },
        (_, 0) => format!("Completed{after}. It had no criteria to be checked against."),
        (_, 1) if holding == 1 => format!("Completed{after}. Its criterion holds."),
        (_, all) if holding == all => format!("Completed{after}. All {all} criteria hold."),
        (_, 1) => format!("Completed{after}. Its criterion is claimed, not verified."),
        (_, all) => format!("Completed{after}. {holding} of {all} criteria hold; the rest is claimed, not verified."),
    }
}

fn holding(report: &Value) -> usize {
    let holds = |criterion: &&Value| matches!(criterion["state"].as_str(), Some("verified" | "accepted"));
    list(report, "criteria").iter().filter(holds).count()
}

/// Why a completed run is only partly so.
fn shortcomings(report: &Value) -> Vec<String> {
    let criteria = list(report, "criteria");
    let unmet = |criterion: &&Value| matches!(criterion["state"].as_str(), Some("open" | "refuted" | "rejected"));
    let mut why = Vec::new();
    match (criteria.iter().filter(unmet).count(), criteria.len()) {
        (0, _) => {}
        (_, 1) => why.push("its criterion does not hold".to_owned()),
        (unmet, all) => why.push(format!("{unmet} of {all} criteria do not hold")),
    }
    let failed = list(report, "failed").iter().filter(|failed| failed["kind"] != "tool");
    for (state, one, several) in [
        ("failed", "failed", "failed"),
        ("canceled", "was canceled", "were canceled"),
        ("partial", "was done only in part", "were done only in part"),
    ] {
        let number = failed.clone().filter(|failed| failed["state"] == state).count() as u64;
        let how = if number == 1 { one } else { several };
        match (number, nodes(report)) {
            (0, _) => {}
            (_, Some(all)) => why.push(format!("{number} of {} {how}", count(all, "node"))),
            (_, None) => why.push(format!("{} {how}", count(number, "step"))),
        }
    }
    match list(report, "dropped").len() {
        0 => {}
        1 => why.push("1 planned step was dropped".into()),
        dropped => why.push(format!("{dropped} planned steps were dropped")),
    }
    why
}

/// What is left of a run that did not complete.
fn kept(report: &Value) -> String {
    let made = list(report, "made").len() as u64 + report["left_out"].as_u64().unwrap_or(0);
    match (report["outcome"].as_str(), made) {
        (Some("none"), _) => " Nothing was made.".into(),
        (_, 0) => String::new(),
        (_, 1) => " The one thing it had made is kept.".into(),
        (_, made) => format!(" The {made} things it had made are kept."),
    }
}

/// How far it got: ` after 3 iterations`, ` with 5 nodes`, ` after 4 steps`.
fn after(report: &Value) -> String {
    match (nodes(report), number(report, "steps"), number(report, "iterations")) {
        (Some(nodes), _, _) => format!(" with {}", count(nodes, "node")),
        (None, Some(steps), _) => format!(" after {}", count(steps, "step")),
        (None, None, iterations) => format!(" after {}", count(iterations.unwrap_or(0), "iteration")),
    }
}

/// Where a run was that was broken off.
fn at(report: &Value) -> String {
    match (nodes(report), number(report, "steps"), number(report, "iterations")) {
        (Some(0), _, _) | (None, None, None | Some(0)) => " before it began".into(),
        (Some(_), _, _) => String::new(),
        (None, Some(_), _) => after(report),
        (None, None, Some(iteration)) => format!(" in iteration {iteration}"),
    }
}

fn nodes(report: &Value) -> Option<u64> {
    Some(report["nodes"].as_object()?.values().filter_map(Value::as_u64).sum())
}

fn number(report: &Value, key: &str) -> Option<u64> {
    report[key].as_u64()
}

fn list<'a>(report: &'a Value, key: &str) -> &'a [Value] {
    report[key].as_array().map(Vec::as_slice).unwrap_or_default()
}
