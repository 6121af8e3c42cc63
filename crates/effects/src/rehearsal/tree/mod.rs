//! The roles of a tree. The root plans parallel studies, a comparison of them, and often a proposal; one study may be divided once
//! more; a node with children sums up their results. The `demo` model adds what people should see once: a question with a
//! default, and a step that fails and is replaced by a new plan.

mod aggregator;
mod executor;
mod outline;
mod planner;

pub(super) use aggregator::answer as aggregator;
pub(super) use executor::answer as executor;
pub(super) use planner::answer as planner;

use super::{Sections, one_line};
use serde_json::{Value, json};

/// The model that adds a question and a failure.
pub(super) const DEMO: &str = "demo";

fn title(sections: &Sections) -> &str {
    sections.value("task")["title"].as_str().map(str::trim).unwrap_or_default()
}

fn result(kind: &str, summary: &str, label: &str) -> Value {
    let hint_type = if kind == "json" { "read_json" } else { "read_documents" };
    json!({"kind": kind, "summary": summary, "success_assessment": {"met": true, "notes": null}, "primary_artifact_label": label,
           "parent_hint": {"hint_type": hint_type, "artifact_labels": [label]}})
}

fn pad(words: &str) -> Value {
    json!({"append_markdown": words, "tail_preview": one_line(words)})
}
