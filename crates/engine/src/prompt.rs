//! How a request is put together. Instructions are prose in the system message; everything else is data: one
//! JSON value per line under a `## name` line, so no text a model or a tool wrote can pass for a heading.

use crate::calls::{Call, CallResult, Rejected};
use crate::effect::{ModelCall, ToolSpec};
use crate::model::Role;
use crate::prompts;
use crate::request::{Message, Part, Request, Speaker};
use crate::run::{Closed, Shared, Steering};
use serde::Serialize;
use serde_json::{Value, json};

/// Prompts stay below 24,000 tokens, three bytes each, unless one result alone needs more.
pub const PROMPT_BYTES: usize = 72_000;
/// One result in full, up to here.
pub const RESULT_BYTES: u32 = 24_000;
pub const LEAST_RESULT_BYTES: u32 = 1_500;
/// The longest answer any role is given room for.
pub const MAX_ANSWER_TOKENS: u32 = 8_192;
const SHOWN_QUESTIONS: usize = 20;

/// The user message, section by section.
#[derive(Default)]
pub struct Sections(pub Vec<Part>);

impl Sections {
    pub fn text(&mut self, text: impl Into<String>) {
        self.0.push(Part::Text(text.into()));
    }

    pub fn add(&mut self, name: &str, value: impl Serialize) {
        let json = serde_json::to_string(&value).unwrap_or_else(|_| "null".into());
        self.text(format!("## {name}\n{json}\n\n"));
    }

    pub fn add_some<T: Serialize>(&mut self, name: &str, list: &[T]) {
        if !list.is_empty() {
            self.add(name, list);
        }
    }

    /// One line per text: each is stored once, however often it is shown.
    pub fn lines<'a>(&mut self, name: &str, texts: impl IntoIterator<Item = &'a String>) {
        self.records(name, texts.into_iter().map(|text| Value::from(text.as_str())));
    }

    /// One JSON value per line.
    pub fn records(&mut self, name: &str, values: impl IntoIterator<Item = Value>) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_none() {
            return;
        }
        self.text(format!("## {name}\n"));
        for value in values {
            self.text(format!("{value}\n"));
        }
        self.text("\n");
    }

    /// Results are stored texts; only their frame is new.
    pub fn results<'a>(&mut self, calls: impl Iterator<Item = (&'a Call, &'a CallResult)>, limit: u32) {
        let mut calls = calls.peekable();
        if calls.peek().is_none() {
            return;
        }
        self.text("## tool_results\n");
        for (call, result) in calls {
            let field = if result.ok { "result" } else { "error" };
            let frame = json!({ "call_id": call.id, "tool": call.tool, "arguments": call.arguments, "ok": result.ok, "event": format!("event:{}", result.seq) });
            self.framed(&frame, field, Part::Stored { blob: result.content, limit });
        }
        self.text("\n");
    }

    /// One line: an object whose last field is a text that is already JSON.
    pub fn framed(&mut self, frame: &Value, field: &str, content: Part) {
        let frame = frame.to_string();
        self.text(format!("{},\"{field}\":", &frame[..frame.len() - 1]));
        self.0.push(content);
        self.text("}\n");
    }

    pub fn bytes(&self) -> usize {
        self.0.iter().map(Part::bytes).sum()
    }
}

/// The call of a role; `rejected` is the answer this one is to correct.
pub fn model_call(
    shared: &Shared,
    role: Role,
    sections: Sections,
    rejected: Option<&Rejected>,
    most_tokens: u32,
) -> ModelCall {
    let model = shared.brief.models.for_role(role).clone();
    let mut request = Request::default();
    request.say(Speaker::System, vec![Part::Text(prompts::system(role).to_owned())]);
    request.say(Speaker::User, sections.0);
    if let Some(rejected) = rejected {
        request.say(Speaker::Assistant, vec![Part::Stored { blob: rejected.response, limit: RESULT_BYTES }]);
        let errors = json!(rejected.errors);
        request.messages.push(Message {
            speaker: Speaker::User,
            parts: vec![Part::Text(format!("That answer cannot be used. Answer again with one JSON object of the same schema.\n\n## errors\n{errors}\n"))],
        });
    }
    let room = (model.context_window as usize).saturating_sub(request.bytes() / 3);
    let max_tokens = most_tokens.min(model.max_output).min(u32::try_from(room.max(256)).unwrap_or(u32::MAX));
    ModelCall { role, model, request, max_tokens }
}

/// How much of each of `count` results fits beside what is said already.
pub fn share_of_prompt(sections: &Sections, role: Role, count: usize) -> u32 {
    let room = PROMPT_BYTES.saturating_sub(sections.bytes() + prompts::system(role).len());
    let each = u32::try_from(room / count.max(1)).unwrap_or(u32::MAX);
    if count <= 1 { RESULT_BYTES } else { each.clamp(LEAST_RESULT_BYTES, RESULT_BYTES) }
}

pub fn tool_lines<'a>(tools: impl Iterator<Item = &'a ToolSpec>) -> Vec<Value> {
    tools
        .map(|tool| json!({ "name": tool.name, "arguments": tool.arguments, "description": tool.description }))
        .collect()
}

/// Everything people were asked, newest twenty, with what they answered.
pub fn questions(shared: &Shared) -> Vec<Value> {
    let asked = shared.questions.iter().filter(|question| question.closed != Some(Closed::Withdrawn));
    let newest = asked.rev().take(SHOWN_QUESTIONS).collect::<Vec<_>>();
    newest
        .into_iter()
        .rev()
        .map(|question| {
            let mut line = json!({ "question_id": question.id, "text": question.text, "answer": question.answer });
            if let Some(closed) = question.closed {
                line["closed"] = json!(closed);
            }
            line
        })
        .collect()
}

pub fn messages<'a>(messages: impl Iterator<Item = &'a Steering>) -> Vec<Value> {
    messages.map(|message| json!({ "text": message.text, "unread": !message.delivered })).collect()
}
