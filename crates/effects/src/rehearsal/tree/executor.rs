//! The tree executor: one search first, then a page, or a register if the deliverable is JSON.

use super::super::Sections;
use super::super::executor::lesson;
use super::super::one_line;
use super::super::prose::{self, Context};
use super::super::subject::Subject;
use super::{outline, pad, result, title};
use serde_json::{Value, json};

pub(crate) fn answer(sections: &Sections, demo: bool) -> Value {
    let subject = Subject::of(sections.text("objective"));
    let own = title(sections);
    if demo && own == outline::failing_title(&subject) {
        return json!({"scratchpad": pad("This is too much for one page; no result came of it.")});
    }
    if demo && own == outline::asking_title(&subject) && sections.items("questions").is_empty() {
        return asks(&subject);
    }
    if sections.items("tool_results").is_empty() && sections.offers("search_documents") {
        let call = json!({"tool": "search_documents", "arguments": {"query": subject.query()}, "purpose": "See what is there already."});
        let calls: Vec<Value> = std::iter::once(call).chain(lesson(sections, &subject)).collect();
        return json!({"tool_calls": calls, "artifacts": [], "result": null, "question": null, "scratchpad": pad("A look at what is there first.")});
    }
    match sections.value("task")["deliverable"].as_str() {
        Some("json") => register(&subject),
        _ => page(sections, &subject, if own.is_empty() { &subject.topic } else { own }),
    }
}

fn asks(subject: &Subject) -> Value {
    let text = prose::fill(subject, "Should the study of {a} favour a quick answer or a thorough one?", 0);
    json!({"tool_calls": [], "artifacts": [], "result": null, "scratchpad": pad("One answer is needed before this goes on."),
           "question": {"text": text, "options": ["a quick one", "a thorough one"], "default": "a thorough one"}})
}

fn page(sections: &Sections, subject: &Subject, title: &str) -> Value {
    let perspective = outline::study_of(subject, title)
        .map_or_else(|| prose::perspective_of(subject, title), |study| study.perspective);
    let answers = sections.items("questions").into_iter().filter_map(|question| question["answer"].as_str());
    let messages = sections.items("messages").into_iter().filter_map(|message| message["text"].as_str());
    let earlier = sections.items("earlier_results").into_iter().filter(|line| line["status"] == "completed");
    let context = Context {
        directions: answers.chain(messages).map(one_line).collect(),
        readings: earlier.filter_map(|line| line["title"].as_str()).map(one_line).collect(),
        criteria: Vec::new(),
    };
    let summary = format!("\"{}\" follows one question: {}", one_line(title), perspective.question);
    let markdown = prose::note(subject, perspective, &context);
    json!({
        "tool_calls": [],
        "artifacts": [{"type": "document", "label": "page", "title": title, "markdown": markdown, "json": null, "is_primary": true}],
        "result": result("document", &summary, "page"),
        "question": null,
        "scratchpad": pad(&summary),
    })
}

fn register(subject: &Subject) -> Value {
    let entries: Vec<Value> = subject
        .phrases
        .iter()
        .enumerate()
        .map(|(nth, phrase)| json!({"name": phrase, "settled": nth % 3 == 2, "question": prose::fill(subject, "What has to be true of {a} for {b} to work out?", nth)}))
        .collect();
    let open = entries.iter().filter(|entry| entry["settled"] == false).count();
    let summary = format!("{} entries about {}; {open} of them are open.", entries.len(), subject.topic);
    let data = json!({"subject": subject.topic, "entries": entries, "open": open, "written_by": "rehearsal"});
    json!({
        "tool_calls": [],
        "artifacts": [{"type": "json", "label": "register", "title": null, "markdown": null, "json": data, "is_primary": true}],
        "result": result("json", &summary, "register"),
        "question": null,
        "scratchpad": pad(&summary),
    })
}
