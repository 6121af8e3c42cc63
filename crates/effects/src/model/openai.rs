//! The OpenAI Chat Completions API, as OpenAI and compatible servers implement it.

use super::capabilities::{Capabilities, TokenField};
use super::config::SchemaMode;
use super::partial_reply::{CallDelta, PartialReply};
use super::usage::ReportedUsage;
use super::wire::{self, ModelRequest, WireFormat};
use engine::request::Speaker;
use http_client::sse::Event;
use reqwest::RequestBuilder;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) struct Chat;

impl WireFormat for Chat {
    fn path(&self) -> &'static str {
        "chat/completions"
    }

    fn authorize(&self, headers: &mut HeaderMap, api_key: Option<&HeaderValue>) {
        let bearer =
            api_key.and_then(|api_key| HeaderValue::from_bytes(&[b"Bearer ", api_key.as_bytes()].concat()).ok());
        if let Some(mut bearer) = bearer {
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
    }

    fn with_body(
        &self,
        http_request: RequestBuilder,
        request: &ModelRequest<'_>,
        capabilities: Capabilities,
    ) -> RequestBuilder {
        let mut messages: Vec<Value> =
            request.messages.iter().map(|(speaker, text)| json!({"role": role(*speaker), "content": text})).collect();
        if let Some(instruction) = wire::instruction(request, capabilities.format) {
            messages.insert(0, json!({"role": "system", "content": instruction}));
        }
        let mut plain = json!({"model": request.model, "messages": messages});
        plain[match capabilities.tokens {
            TokenField::MaxTokens => "max_tokens",
            TokenField::MaxCompletionTokens => "max_completion_tokens",
        }] = json!(request.max_tokens);
        if capabilities.stream {
            plain["stream"] = json!(true);
            plain["stream_options"] = json!({"include_usage": true});
        }
        http_request.json(&Body { plain, response_format: response_format(request, capabilities.format) })
    }

    fn event(&self, event: &Event, reply: &mut PartialReply) -> Result<bool, serde_json::Error> {
        let data = event.data.trim();
        if data == "[DONE]" {
            reply.ended = true;
            return Ok(true);
        }
        if data.is_empty() {
            return Ok(false);
        }
        let chunk: Value = serde_json::from_str(data)?;
        reply.error = wire::error_text(&chunk).or_else(|| (event.name == "error").then(|| data.to_owned()));
        read(&chunk, "delta", reply);
        Ok(true)
    }

    fn whole(&self, answer: &Value, reply: &mut PartialReply) {
        reply.error = wire::error_text(answer);
        read(answer, "message", reply);
        reply.ended = answer.get("choices").is_some();
    }

    /// Some compatible servers never send `[DONE]`: a finish reason and a clean close are enough.
    fn finished(&self, reply: &PartialReply) -> bool {
        reply.ended || reply.stop.is_some()
    }
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    plain: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat<'a> {
    JsonSchema { json_schema: JsonSchema<'a> },
    JsonObject,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    schema: &'a RawValue,
    strict: bool,
}

fn response_format<'a>(request: &ModelRequest<'a>, format: SchemaMode) -> Option<ResponseFormat<'a>> {
    let schema = request.schema;
    match format {
        SchemaMode::Schema => Some(ResponseFormat::JsonSchema {
            json_schema: JsonSchema {
                name: request.role,
                schema: &schema.text,
                strict: wire::is_closed(&schema.value),
            },
        }),
        SchemaMode::JsonObject => Some(ResponseFormat::JsonObject),
        SchemaMode::Text => None,
    }
}

fn role(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::System => "system",
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
    }
}

/// A chunk and a whole answer differ only in the name of a choice's content: `delta` or `message`.
fn read(answer: &Value, content: &str, reply: &mut PartialReply) {
    if let Some(id) = answer["id"].as_str().filter(|id| !id.is_empty()) {
        reply.id.get_or_insert_with(|| id.to_owned());
    }
    reply.usage.update(ReportedUsage::openai(&answer["usage"]));
    for choice in answer["choices"].as_array().into_iter().flatten() {
        if choice["index"].as_u64().unwrap_or(0) == 0 {
            read_message(&choice[content], reply);
            read_stop(choice, reply);
        }
    }
}

fn read_message(message: &Value, reply: &mut PartialReply) {
    match &message["content"] {
        Value::String(text) => reply.add_text(text),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).for_each(|text| reply.add_text(text))
        }
        _ => {}
    }
    // A refusal is an answer too: the run validates it like any other.
    if let Some(refusal) = message["refusal"].as_str() {
        reply.add_text(refusal);
    }
    for field in ["reasoning_content", "reasoning"] {
        reply.add_reasoning(message[field].as_str().unwrap_or(""));
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        reply.add_call(CallDelta {
            index: call["index"].as_u64(),
            id: call["id"].as_str(),
            name: call["function"]["name"].as_str(),
            arguments: call["function"]["arguments"].as_str(),
        });
    }
}

fn read_stop(choice: &Value, reply: &mut PartialReply) {
    match choice["finish_reason"].as_str() {
        None | Some("") => {}
        Some("error") => reply.error = wire::error_text(choice).or(Some("finish_reason \"error\"".into())),
        Some(reason) => reply.stop = Some(reason.to_owned()),
    }
}
