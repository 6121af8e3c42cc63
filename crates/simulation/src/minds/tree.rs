//! The tree's parts: sometimes a plan, mostly a page, now and then a tool, a question or another plan.

use crate::dice::Dice;
use serde_json::{Value, json};

pub fn planner(dice: &mut Dice) -> Value {
    match dice.below(10) {
        0..=3 => plan(dice),
        4 => json!({"mode": "plan", "question": {"text": "Which way?", "default": "left"}}),
        _ => json!({"mode": "execute", "leaf_decision": "direct", "scratchpad": {"append_markdown": "Small enough."}}),
    }
}

fn plan(dice: &mut Dice) -> Value {
    let bands = (0..dice.between(1, 3)).map(|band| {
        let steps = (0..dice.between(1, 3)).map(|step| json!({"id": format!("b{band}s{step}"), "title": format!("Part {band}.{step}"), "leaf": dice.happens(500)}));
        json!({"index": band, "goal": "", "steps": steps.collect::<Vec<_>>()})
    });
    json!({"mode": "plan", "plan": {"summary": "In parts.", "bands": bands.collect::<Vec<_>>()}})
}

pub fn executor(dice: &mut Dice) -> Value {
    match dice.below(10) {
        0..=2 => {
            json!({"tool_calls": [{"tool": "create_document", "arguments": {"title": "Made by a tool", "content": "text"}}]})
        }
        3 => {
            json!({"tool_calls": [{"tool": "list_documents", "arguments": {}}, {"tool": "no_such_tool", "arguments": {}}]})
        }
        4 => json!({"question": {"text": "What colour?"}}),
        5 => {
            json!({"artifacts": [{"type": "json", "label": "data", "json": {"n": 1}}], "result": {"summary": "Data."}})
        }
        6 => {
            json!({"result": {"summary": "Not mine.", "primary_artifact_label": "00000000-0000-7000-8000-000000000000"}})
        }
        _ => {
            json!({"artifacts": [page("page")], "result": {"summary": "A page.", "primary_artifact_label": "page"}, "scratchpad": {"append_markdown": "Wrote it."}})
        }
    }
}

pub fn aggregator(dice: &mut Dice) -> Value {
    json!({
        "synthesis": {"summary": "All together.", "key_findings": ["one"], "gaps": []},
        "artifacts": if dice.happens(500) { json!([page("synthesis")]) } else { json!([]) },
        "result": {"summary": "All together."},
        "next": {"should_replan": dice.happens(200), "reason": "more"},
    })
}

fn page(label: &str) -> Value {
    json!({"type": "document", "label": label, "title": label, "markdown": "# Page\n\nText."})
}
