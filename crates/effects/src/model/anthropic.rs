//! The Anthropic Messages API. The role's schema is the input of one tool, which the model is forced to call.

use super::capabilities::Capabilities;
use super::config::SchemaMode;
use super::partial_reply::{CallDelta, PartialReply};
use super::usage::ReportedUsage;
use super::wire::{self, ModelRequest, WireFormat};
use engine::request::Speaker;
use http_client::sse::Event;
use reqwest::RequestBuilder;
use reqwest::header::{HeaderMap, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) struct Messages;

const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

impl WireFormat for Messages {
    fn path(&self) -> &'static str {
        "messages"
    }

    fn authorize(&self, headers: &mut HeaderMap, api_key: Option<&HeaderValue>) {
        headers.insert("anthropic-version", VERSION);
        if let Some(api_key) = api_key {
            headers.insert("x-api-key", api_key.clone());
        }
    }

    fn with_body(
        &self,
        http_request: RequestBuilder,
        request: &ModelRequest<'_>,
        capabilities: Capabilities,
    ) -> RequestBuilder {
        let mut system = Vec::new();
        let mut messages = Vec::new();
        for (speaker, text) in request.messages {
            match speaker {
                Speaker::System => system.push(text.clone()),
                Speaker::User => messages.push(json!({"role": "user", "content": text})),
                Speaker::Assistant => messages.push(json!({"role": "assistant", "content": text})),
            }
        }
        system.extend(wire::instruction(request, capabilities.format));
        let mut plain = json!({"model": request.model, "max_tokens": request.max_tokens, "messages": messages});
        if !system.is_empty() {
            plain["system"] = json!(system.join("\n\n"));
        }
        if capabilities.stream {
            plain["stream"] = json!(true);
        }
        let mut tools = Vec::new();
        if capabilities.format == SchemaMode::Schema {
            plain["tool_choice"] = json!({"type": "tool", "name": request.role});
            let input_schema = &request.schema.text;
            tools.push(Tool { name: request.role, description: "Gives the answer.", input_schema });
        }
        http_request.json(&Body { plain, tools })
    }

    fn event(&self, event: &Event, reply: &mut PartialReply) -> Result<bool, serde_json::Error> {
        if event.data.trim().is_empty() {
            return Ok(false);
        }
        let data: Value = serde_json::from_str(&event.data)?;
        match data["type"].as_str().unwrap_or(&event.name) {
            "ping" => return Ok(false),
            "message_start" => {
                reply.id = data["message"]["id"].as_str().map(str::to_owned);
                reply.usage.update(ReportedUsage::anthropic(&data["message"]["usage"]));
            }
            "content_block_start" => block(&data["content_block"], data["index"].as_u64(), reply),
            "content_block_delta" => delta(&data["delta"], data["index"].as_u64(), reply),
            "message_delta" => {
                stop(&data["delta"], reply);
                reply.usage.update(ReportedUsage::anthropic(&data["usage"]));
            }
            "message_stop" => reply.ended = true,
            "error" => reply.error = Some(wire::error_text(&data).unwrap_or_else(|| event.data.clone())),
            _ => {}
        }
        Ok(true)
    }

    fn whole(&self, answer: &Value, reply: &mut PartialReply) {
        reply.error = wire::error_text(answer);
        reply.id = answer["id"].as_str().map(str::to_owned);
        reply.usage.update(ReportedUsage::anthropic(&answer["usage"]));
        stop(answer, reply);
        for (index, content) in (0..).zip(answer["content"].as_array().into_iter().flatten()) {
            block(content, Some(index), reply);
        }
        reply.ended = answer.get("content").is_some();
    }

    fn finished(&self, reply: &PartialReply) -> bool {
        reply.ended
    }
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    plain: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

fn block(block: &Value, index: Option<u64>, reply: &mut PartialReply) {
    match block["type"].as_str() {
        Some("text") => reply.add_text(block["text"].as_str().unwrap_or("")),
        Some("thinking") => reply.add_reasoning(block["thinking"].as_str().unwrap_or("")),
        Some("tool_use") => {
            // In a stream the block starts with an empty input, which is filled by deltas.
            let input = &block["input"];
            let whole = input.as_object().is_some_and(|input| !input.is_empty()).then(|| input.to_string());
            reply.add_call(CallDelta {
                index,
                id: block["id"].as_str(),
                name: block["name"].as_str(),
                arguments: whole.as_deref(),
            });
        }
        _ => {}
    }
}

fn delta(delta: &Value, index: Option<u64>, reply: &mut PartialReply) {
    match delta["type"].as_str() {
        Some("text_delta") => reply.add_text(delta["text"].as_str().unwrap_or("")),
        Some("thinking_delta") => reply.add_reasoning(delta["thinking"].as_str().unwrap_or("")),
        Some("input_json_delta") => {
            reply.add_call(CallDelta { index, arguments: delta["partial_json"].as_str(), ..Default::default() })
        }
        _ => {}
    }
}

fn stop(holder: &Value, reply: &mut PartialReply) {
    if let Some(reason) = holder["stop_reason"].as_str().filter(|reason| !reason.is_empty()) {
        reply.stop = Some(reason.to_owned());
    }
}
