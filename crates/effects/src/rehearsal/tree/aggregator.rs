//! The aggregator: joins the pages of the children into one. In the demo, a gap leads to a new plan.

use super::super::prose::{self, Context};
use super::super::subject::Subject;
use super::super::{Sections, one_line};
use super::{pad, result, title};
use serde_json::{Value, json};

pub(crate) fn answer(sections: &Sections, demo: bool) -> Value {
    let subject = Subject::of(sections.text("objective"));
    let (notes, gaps) = (notes(sections), gaps(sections));
    let is_root = sections.items("path").is_empty();
    let may_replan = sections.value("plan")["replans_left"].as_u64().unwrap_or(0) > 0;
    let replans = demo && is_root && may_replan && !gaps.is_empty();
    let reason = replans.then(|| format!("One part is missing; a smaller step can close the gap: {}", gaps.join("; ")));
    let summary =
        format!("{} parts of {} are brought together; {} gaps remain.", notes.len(), subject.topic, gaps.len());
    let page_title = if is_root { prose::synthesis_title(&subject) } else { format!("Together: {}", title(sections)) };
    let criteria =
        sections.value("task")["success_criteria"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let answers = sections.items("questions").into_iter().filter_map(|question| question["answer"].as_str());
    let context = Context {
        directions: answers.map(one_line).collect(),
        readings: Vec::new(),
        criteria: criteria.filter(|_| is_root).map(one_line).collect(),
    };
    let markdown = prose::synthesis(&subject, &notes, &context);
    let mut result = result("document", &summary, "synthesis");
    result["success_assessment"]["met"] = gaps.is_empty().into();
    json!({
        "synthesis": {"summary": summary, "key_findings": notes.iter().map(|(_, summary)| summary).collect::<Vec<_>>(), "gaps": gaps},
        "artifacts": [{"type": "document", "label": "synthesis", "title": page_title, "markdown": markdown, "json": null, "is_primary": true}],
        "result": result,
        "next": {"should_replan": replans, "reason": reason},
        "scratchpad": pad(&summary),
    })
}

/// The title and summary of each finished step.
fn notes(sections: &Sections) -> Vec<(String, String)> {
    let line = |line: &Value| {
        let summary = line["result"]["summary"].as_str()?;
        Some((one_line(line["title"].as_str().unwrap_or_default()), one_line(summary)))
    };
    sections.items("results").into_iter().filter_map(line).collect()
}

fn gaps(sections: &Sections) -> Vec<String> {
    let failed = sections.items("results").into_iter().filter(|line| line["result"].is_null());
    let text = |line: &Value, name: &str, otherwise: &str| one_line(line[name].as_str().unwrap_or(otherwise));
    failed.map(|line| format!("{}: {}", text(line, "title", "a step"), text(line, "error", "no result"))).collect()
}
