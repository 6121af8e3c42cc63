//! The homework executor: reads something, then writes one note and reports it.

use super::prose::{self, Context};
use super::subject::Subject;
use super::{Sections, one_line};
use serde_json::{Value, json};
use uuid::Uuid;

const READS: [&str; 3] = ["search_documents", "list_documents", "list_projects"];
/// How the planner passes on what people said.
const GIVEN: &str = "Take as given: \"";

pub(super) fn answer(sections: &Sections) -> Value {
    let task = sections.value("task");
    let subject = Subject::of(sections.text("objective"));
    let results = sections.items("tool_results");
    let first_look = if results.is_empty() { reading(sections, task, &subject) } else { None };
    match first_look {
        Some(call) => {
            let calls: Vec<Value> = std::iter::once(call).chain(lesson(sections, &subject)).collect();
            json!({"thought": "First a look at what is there.", "tool_calls": calls, "done": false})
        }
        None if sections.offers("create_document") && !was_refused(&results) => {
            written(sections, task, &subject, &results)
        }
        None => only_read(task, &results),
    }
}

/// A lesson that a subagent stores.
pub(super) fn lesson(sections: &Sections, subject: &Subject) -> Option<Value> {
    let text = format!("Work on {} begins with an outline and a look at what is there.", subject.topic);
    let call =
        || json!({"tool": "add_lesson", "arguments": {"text": one_line(&text)}, "purpose": "Keep what was learned."});
    sections.value("your_identity").is_object().then(call)
}

/// A refused write is reported instead of repeated.
fn was_refused(results: &[&Value]) -> bool {
    results.iter().any(|result| result["tool"] == "create_document" && result["ok"] == false)
}

/// Reads the outline if the task names one (every other branch searches instead), or whatever can be read.
fn reading(sections: &Sections, task: &Value, subject: &Subject) -> Option<Value> {
    let mut words = task["objective"].as_str().unwrap_or_default().split([' ', ',', '.', ':']);
    let named = words.find(|word| Uuid::parse_str(word).is_ok());
    let searches =
        task["branch_id"].as_str().is_some_and(|branch| branch.ends_with('2')) && sections.offers("search_documents");
    if let (Some(id), true, false) = (named, sections.offers("get_document"), searches) {
        return Some(json!({"tool": "get_document", "arguments": {"document_id": id}, "purpose": "Read the outline."}));
    }
    let tool = sections.first_offered(&READS)?;
    let arguments = if tool == "search_documents" { json!({"query": subject.query()}) } else { json!({}) };
    Some(json!({"tool": tool, "arguments": arguments, "purpose": "See what is there already."}))
}

fn written(sections: &Sections, task: &Value, subject: &Subject, results: &[&Value]) -> Value {
    let title = task["title"].as_str().filter(|title| !title.trim().is_empty()).unwrap_or(&subject.topic);
    let perspective = prose::perspective_of(subject, title);
    let context =
        Context { directions: directions(sections, task), readings: titles_read(results), criteria: Vec::new() };
    let arguments = json!({"title": title, "content": prose::note(subject, perspective, &context)});
    let snippet =
        format!("\"{title}\" takes {} in three sections and says of each what can be checked.", subject.phrase(0));
    let steps: Vec<&str> = task["step_id"].as_str().into_iter().collect();
    json!({
        "thought": "Enough is known to write the note.",
        "tool_calls": [{"tool": "create_document", "arguments": arguments, "purpose": "Write the note."}],
        "done": true,
        "summary": format!("Wrote \"{title}\", which follows one question: {}", perspective.question),
        "result_snippet": one_line(&snippet),
        "completed_step_ids": steps,
    })
}

/// What people said, from the planner's task and from new messages.
fn directions(sections: &Sections, task: &Value) -> Vec<String> {
    let given = task["objective"].as_str().unwrap_or_default().split(GIVEN).skip(1);
    let given = given.filter_map(|text| text.rsplit_once("\".").map(|(one_line, _)| one_line));
    let messages = sections.items("messages").into_iter().filter_map(|message| message["text"].as_str());
    let mut directions: Vec<String> = Vec::new();
    for direction in given.chain(messages).map(one_line) {
        if !directions.contains(&direction) {
            directions.push(direction);
        }
    }
    directions
}

/// The titles in tool results, of one document or a list.
fn titles_read(results: &[&Value]) -> Vec<String> {
    let mut titles = Vec::new();
    for result in results.iter().map(|result| &result["result"]) {
        let lists = ["results", "documents", "projects"].iter().filter_map(|name| result[name].as_array()).flatten();
        titles.extend(lists.chain([result]).filter_map(|item| item["title"].as_str()).map(one_line));
    }
    titles
}

fn only_read(task: &Value, results: &[&Value]) -> Value {
    let read = titles_read(results);
    let found = if read.is_empty() { "nothing that helps".into() } else { read.join(", ") };
    let title = task["title"].as_str().unwrap_or("this task");
    let snippet = one_line(&format!("Nothing may be written here for \"{title}\"; read: {found}."));
    json!({"thought": "Reading is all that can be done here.", "tool_calls": [], "done": true, "summary": snippet,
           "result_snippet": snippet, "completed_step_ids": []})
}
