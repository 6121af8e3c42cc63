//! The report role: title, summary, findings and open steps of a run.

use super::subject::Subject;
use super::{Sections, one_line};
use serde_json::{Value, json};

const MAX_FINDINGS: usize = 8;

pub(super) fn answer(sections: &Sections) -> Value {
    let subject = Subject::of(sections.text("objective"));
    let outcome = sections.value("outcome");
    let status = outcome["status"].as_str().unwrap_or("ended");
    let artifacts = sections.items("artifacts");
    let not_done = not_done(sections);
    let left = match not_done.len() {
        0 => "Nothing planned was left open.".into(),
        1 => "One planned step stays open.".into(),
        open => format!("{open} planned steps stay open."),
    };
    json!({
        "title": format!("{} ({status})", subject.topic),
        "summary": format!(
            "The run on “{}” ended as {status}{}. It made {} pages and tasks. {left} The words of this run come \
             from the built-in rehearsal model.",
            subject.topic, because(outcome), artifacts.len()
        ),
        "findings": findings(sections),
        "not_done": not_done,
    })
}

fn because(outcome: &Value) -> String {
    match outcome["stop_reason"].as_str() {
        Some(reason) if outcome["status"] != reason => format!(" ({reason})"),
        _ => String::new(),
    }
}

/// The claims with evidence, or the pages if there are none.
fn findings(sections: &Sections) -> Vec<String> {
    let claims = sections.items("evidence").into_iter().filter_map(|evidence| evidence["claim"].as_str());
    let claims: Vec<String> = claims.take(MAX_FINDINGS).map(one_line).collect();
    if !claims.is_empty() {
        return claims;
    }
    let titles = sections.items("artifacts").into_iter().filter_map(|artifact| artifact["title"].as_str());
    titles.take(MAX_FINDINGS).map(|title| format!("Made: {}", one_line(title))).collect()
}

fn not_done(sections: &Sections) -> Vec<String> {
    let steps = sections.value("plan")["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let open = steps.iter().filter(|step| step["status"] != "done");
    open.filter_map(|step| step["title"].as_str()).map(one_line).collect()
}
