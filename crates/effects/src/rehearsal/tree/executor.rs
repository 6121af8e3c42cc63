//! One look at what is there, then a page, or a register where data is asked for.

use super::super::executor::lesson;
use super::super::prose::{self, Context};
use super::super::said;
use super::super::sections::Sections;
use super::super::theme::Theme;
use super::{outline, pad, result, title};
use serde_json::{Value, json};

pub fn answer(sections: &Sections, demo: bool) -> Value {
    let theme = Theme::of(sections.text("objective"));
    let own = title(sections);
    if demo && own == outline::failing_title(&theme) {
        return json!({"scratchpad": pad("This is too much for one page; no result came of it.")});
    }
    if demo && own == outline::asking_title(&theme) && sections.items("questions").is_empty() {
        return asks(&theme);
    }
    if sections.items("tool_results").is_empty() && sections.offers("search_documents") {
        let call = json!({"tool": "search_documents", "arguments": {"query": theme.query()}, "purpose": "See what is there already."});
        let calls: Vec<Value> = std::iter::once(call).chain(lesson(sections, &theme)).collect();
        return json!({"tool_calls": calls, "artifacts": [], "result": null, "question": null, "scratchpad": pad("A look at what is there first.")});
    }
    match sections.value("task")["deliverable"].as_str() {
        Some("json") => register(&theme),
        _ => page(sections, &theme, if own.is_empty() { &theme.topic } else { own }),
    }
}

fn asks(theme: &Theme) -> Value {
    let text = prose::fill(theme, "Should the study of {a} favour a quick answer or a thorough one?", 0);
    json!({"tool_calls": [], "artifacts": [], "result": null, "scratchpad": pad("One answer is needed before this goes on."),
           "question": {"text": text, "options": ["a quick one", "a thorough one"], "default": "a thorough one"}})
}

fn page(sections: &Sections, theme: &Theme, title: &str) -> Value {
    let angle = outline::study_of(theme, title).map_or_else(|| prose::angle_of(theme, title), |study| study.angle);
    let answers = sections.items("questions").into_iter().filter_map(|question| question["answer"].as_str());
    let messages = sections.items("messages").into_iter().filter_map(|message| message["text"].as_str());
    let earlier = sections.items("earlier_results").into_iter().filter(|line| line["status"] == "completed");
    let context = Context {
        directions: answers.chain(messages).map(said).collect(),
        readings: earlier.filter_map(|line| line["title"].as_str()).map(said).collect(),
        criteria: Vec::new(),
    };
    let summary = format!("\"{}\" follows one question: {}", said(title), angle.question);
    let markdown = prose::note(theme, angle, &context);
    json!({
        "tool_calls": [],
        "artifacts": [{"type": "document", "label": "page", "title": title, "markdown": markdown, "json": null, "is_primary": true}],
        "result": result("document", &summary, "page"),
        "question": null,
        "scratchpad": pad(&summary),
    })
}

fn register(theme: &Theme) -> Value {
    let entries: Vec<Value> = theme
        .phrases
        .iter()
        .enumerate()
        .map(|(nth, phrase)| json!({"name": phrase, "settled": nth % 3 == 2, "question": prose::fill(theme, "What has to be true of {a} for {b} to work out?", nth)}))
        .collect();
    let open = entries.iter().filter(|entry| entry["settled"] == false).count();
    let summary = format!("{} entries about {}; {open} of them are open.", entries.len(), theme.topic);
    let data = json!({"subject": theme.topic, "entries": entries, "open": open, "written_by": "rehearsal"});
    json!({
        "tool_calls": [],
        "artifacts": [{"type": "json", "label": "register", "title": null, "markdown": null, "json": data, "is_primary": true}],
        "result": result("json", &summary, "register"),
        "question": null,
        "scratchpad": pad(&summary),
    })
}
