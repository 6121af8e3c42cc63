//! Assembles a request: the role's instructions as prose in the system message, everything else as data in the user
//! message (`sections`), within the prompt limit and the model's context window.

use crate::calls::RejectedAnswer;
use crate::effect::{ModelCall, ToolSpec};
use crate::model::{ModelSpec, Role};
use crate::prompts;
use crate::request::{Part, Request, Speaker};
use crate::run::{ClosedBy, Shared, UserMessage};
pub use crate::sections::{Quote, Sections};
use serde::Serialize;
use serde_json::{Value, json};

/// Prompts stay below 24,000 tokens, three bytes each, unless one result alone needs more.
const PROMPT_BYTES: usize = 72_000;
/// A prompt of this size and this answer fit the wrap-up reserve.
const WRAP_UP_BYTES: usize = 34_000;
const WRAP_UP_ANSWER_TOKENS: u32 = 4_000;
/// Below this the rules of a role and an answer leave no room for the work itself.
pub const MIN_CONTEXT_TOKENS: u32 = 6_000;
const BYTES_PER_TOKEN: usize = 3;
/// How much of a rejected answer, and of its errors, is shown in the repair request.
const REJECTED_BYTES: u32 = 12_000;
const ERRORS_BYTES: usize = 3_000;
const SHOWN_QUESTIONS: usize = 20;
/// In characters. A person sees the whole question; the model wrote the call it is about and needs only its beginning.
const MAX_QUESTION_CHARS: usize = 5_000;
const SHOWN_MESSAGES: usize = 20;

/// The section that makes a call a subagent's; the rules for subagents are sent with it.
pub const YOUR_IDENTITY: &str = "your_identity";

/// How large a call may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Ordinary,
    /// Ordinary, with an answer of at most so many tokens.
    Brief(u32),
    /// Within the wrap-up reserve.
    WrapUp,
}

impl Size {
    /// The most tokens an answer may have: what the model can write, as far as its window has room beside a prompt.
    pub fn answer_tokens(self, model: &ModelSpec) -> u32 {
        let window = model.context_window;
        let beside_prompt = window.saturating_sub((PROMPT_BYTES / BYTES_PER_TOKEN) as u32).max(window / 4);
        let able = model.max_output.min(beside_prompt).max(1);
        match self {
            Size::Ordinary => able,
            Size::Brief(most) => able.min(most),
            Size::WrapUp => able.min(WRAP_UP_ANSWER_TOKENS),
        }
    }

    /// The bytes all messages together should take, and the bytes they may take for one result's sake.
    fn prompt_bytes(self, model: &ModelSpec) -> (usize, usize) {
        let window = (model.context_window.saturating_sub(self.answer_tokens(model))) as usize * BYTES_PER_TOKEN;
        match self {
            Size::Ordinary | Size::Brief(_) => (PROMPT_BYTES.min(window), window),
            Size::WrapUp => (WRAP_UP_BYTES.min(window), WRAP_UP_BYTES.min(window)),
        }
    }
}

/// The call of a role; `rejected` is the answer this one is to correct.
pub fn model_call(
    shared: &Shared,
    role: Role,
    sections: Sections,
    rejected: Option<&RejectedAnswer>,
    size: Size,
) -> ModelCall {
    let model = shared.brief.models.for_role(role).clone();
    let giving = prompts::schema_with_agents(role).filter(|_| !shared.brief.agents.is_empty());
    let words = [
        Some(prompts::system(role)),
        giving.map(|_| prompts::GIVING_WORK),
        sections.has(YOUR_IDENTITY).then_some(prompts::WORKING_AS_SUBAGENT),
    ];
    let system: Vec<Part> = words.into_iter().flatten().map(|text| Part::Text(text.to_owned())).collect();
    let correction = rejected.map(correction).unwrap_or_default();
    let beside = system.iter().map(Part::bytes).sum::<usize>() + correction.bytes();
    let (room, most) = size.prompt_bytes(&model);
    let mut request = Request::default();
    request.say(Speaker::System, system);
    request.say(Speaker::User, sections.fitted(room.saturating_sub(beside), most.saturating_sub(beside)));
    request.messages.extend(correction.messages);
    let schema = giving.unwrap_or_else(|| prompts::schema(role));
    ModelCall { role, max_tokens: size.answer_tokens(&model), model, request, schema }
}

/// The answer that cannot be used, and why.
fn correction(rejected: &RejectedAnswer) -> Request {
    let mut said = Request::default();
    // Some servers refuse an empty message.
    if rejected.response.bytes > 0 {
        said.say(Speaker::Assistant, vec![Part::Stored { blob: rejected.response, limit: REJECTED_BYTES }]);
    }
    let errors = crate::shorten::to_fit(&json!(rejected.errors), ERRORS_BYTES);
    let asked = format!(
        "That answer cannot be used. Answer again with one JSON object of the same schema.\n\n## errors\n{errors}\n"
    );
    said.say(Speaker::User, vec![Part::Text(asked)]);
    said
}

/// As JSON, written straight from the specifications: every request has all of them.
pub fn tool_lines<'a>(tools: impl Iterator<Item = &'a ToolSpec>) -> Vec<String> {
    #[derive(Serialize)]
    struct Line<'a> {
        arguments: &'a str,
        description: &'a str,
        name: &'a str,
    }
    let line =
        |tool: &'a ToolSpec| Line { arguments: &tool.arguments, description: &tool.description, name: &tool.name };
    tools.map(|tool| serde_json::to_string(&line(tool)).unwrap_or_default()).collect()
}

/// The newest twenty questions with their answers.
pub fn questions(shared: &Shared) -> Vec<Value> {
    let asked = shared.questions.iter().filter(|question| question.closed != Some(ClosedBy::Withdrawn));
    let newest = asked.rev().take(SHOWN_QUESTIONS).collect::<Vec<_>>();
    newest
        .into_iter()
        .rev()
        .map(|question| {
            let text = crate::shorten::text(&question.text, MAX_QUESTION_CHARS);
            let mut line = json!({ "question_id": question.id, "text": text, "answer": question.answer });
            if let Some(closed) = question.closed {
                line["closed"] = json!(closed);
            }
            line
        })
        .collect()
}

/// The newest twenty of these messages.
pub fn newest_messages<'a>(heard: impl Iterator<Item = &'a UserMessage>) -> Vec<&'a UserMessage> {
    let mut heard: Vec<&UserMessage> = heard.collect();
    heard.drain(..heard.len().saturating_sub(SHOWN_MESSAGES));
    heard
}

/// The newest twenty messages; those this reader has not seen are marked.
pub fn messages<'a>(heard: impl Iterator<Item = &'a UserMessage>, unread: impl Fn(&UserMessage) -> bool) -> Vec<Value> {
    let shown = newest_messages(heard).into_iter();
    shown.map(|message| json!({ "text": message.text, "unread": unread(message) })).collect()
}
