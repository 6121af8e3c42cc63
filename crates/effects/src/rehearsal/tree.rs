//! The tree's parts: the root plans a few studies and a comparison, every other node does its work itself, and
//! whoever has children sums up what they wrote.

use super::prose::{self, Context};
use super::said;
use super::sections::Sections;
use super::theme::Theme;
use serde_json::{Value, json};

pub fn planner(sections: &Sections) -> Value {
    let allowances = sections.value("allowances");
    let may_grow =
        allowances["depth_left"].as_u64().unwrap_or(0) > 0 && allowances["nodes_left"].as_u64().unwrap_or(0) >= 3;
    let is_root = sections.items("path").is_empty();
    if is_root && may_grow && sections.value("plan").is_null() { plan(sections, allowances) } else { leaf(sections) }
}

fn plan(sections: &Sections, allowances: &Value) -> Value {
    let theme = Theme::of(sections.text("objective"));
    let wide = allowances["max_steps_per_band"].as_u64().unwrap_or(1).clamp(1, 2) as usize;
    let steps: Vec<Value> = prose::angles(&theme).iter().take(wide).enumerate().map(|(nth, angle)| {
        json!({"id": format!("note{}", nth + 1), "title": prose::note_title(&theme, angle), "reason": angle.question,
               "success_criteria": ["The page answers its question and says what cannot be known yet"], "deliverable": "document", "leaf": nth == 0})
    }).collect();
    let mut bands = vec![json!({"index": 0, "goal": format!("Know {}", theme.phrase(0)), "steps": steps})];
    if allowances["max_bands"].as_u64().unwrap_or(1) > 1 {
        let step = json!({"id": "compare", "title": format!("Weigh the notes on {}", theme.phrase(0)), "reason": "The synthesis rests on it",
                          "success_criteria": ["Each note is weighed"], "deliverable": "document", "leaf": true});
        bands.push(json!({"index": 1, "goal": "Weigh what was found", "steps": [step]}));
    }
    let words = format!("Notes side by side first, then weigh them: {}.", theme.topic);
    json!({"mode": "plan", "mode_reason": "The questions are independent; weighing them needs both.", "leaf_decision": null,
           "plan": {"summary": words, "bands": bands}, "question": null, "scratchpad": pad(&words)})
}

fn leaf(sections: &Sections) -> Value {
    let title = sections.value("task")["title"].as_str().unwrap_or("this task");
    let words = format!("\"{}\" is one page of work.", said(title));
    json!({"mode": "execute", "mode_reason": words, "leaf_decision": "direct", "plan": null, "question": null, "scratchpad": pad(&words)})
}

/// One look at what is there, then a page.
pub fn executor(sections: &Sections) -> Value {
    let theme = Theme::of(sections.text("objective"));
    let title =
        sections.value("task")["title"].as_str().filter(|title| !title.trim().is_empty()).unwrap_or(&theme.topic);
    if sections.items("tool_results").is_empty() && sections.offers("search_documents") {
        let call = json!({"tool": "search_documents", "arguments": {"query": theme.query()}, "purpose": "See what is there already."});
        return json!({"tool_calls": [call], "artifacts": [], "result": null, "question": null, "scratchpad": pad("A look at what is there first.")});
    }
    let angle = prose::angle_of(&theme, title);
    let directions =
        sections.items("messages").into_iter().filter_map(|message| message["text"].as_str()).map(said).collect();
    let context = Context { directions, readings: Vec::new(), criteria: Vec::new() };
    let summary = format!("\"{}\" follows one question: {}", said(title), angle.question);
    json!({
        "tool_calls": [],
        "artifacts": [{"type": "document", "label": "page", "title": title, "markdown": prose::note(&theme, angle, &context), "json": null, "is_primary": true}],
        "result": result(&summary, "page"),
        "question": null,
        "scratchpad": pad(&summary),
    })
}

pub fn aggregator(sections: &Sections) -> Value {
    let theme = Theme::of(sections.text("objective"));
    let lines = sections.items("results");
    let summary_of = |line: &Value| {
        line["result"]["summary"]
            .as_str()
            .map(|summary| (said(line["title"].as_str().unwrap_or_default()), said(summary)))
    };
    let notes: Vec<(String, String)> = lines.iter().filter_map(|line| summary_of(line)).collect();
    let gaps: Vec<String> = lines
        .iter()
        .filter(|line| line["result"].is_null())
        .map(|line| {
            format!(
                "{}: {}",
                said(line["title"].as_str().unwrap_or_default()),
                said(line["error"].as_str().unwrap_or("no result"))
            )
        })
        .collect();
    let context = Context { directions: Vec::new(), readings: Vec::new(), criteria: Vec::new() };
    let summary = format!("{} notes on {} are brought together; {} gaps remain.", notes.len(), theme.topic, gaps.len());
    let mut result = result(&summary, "synthesis");
    result["success_assessment"]["met"] = gaps.is_empty().into();
    json!({
        "synthesis": {"summary": summary, "key_findings": notes.iter().map(|(_, summary)| summary).collect::<Vec<_>>(), "gaps": gaps},
        "artifacts": [{"type": "document", "label": "synthesis", "title": prose::synthesis_title(&theme), "markdown": prose::synthesis(&theme, &notes, &context), "json": null, "is_primary": true}],
        "result": result,
        "next": {"should_replan": false, "reason": null},
        "scratchpad": pad(&summary),
    })
}

fn result(summary: &str, label: &str) -> Value {
    json!({"kind": "document", "summary": summary, "success_assessment": {"met": true, "notes": null}, "primary_artifact_label": label,
           "parent_hint": {"hint_type": "read_documents", "artifact_labels": [label]}})
}

fn pad(words: &str) -> Value {
    json!({"append_markdown": words, "tail_preview": said(words)})
}
