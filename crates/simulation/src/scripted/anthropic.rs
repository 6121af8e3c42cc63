//! A reply in the format of Anthropic Messages: the input of the tool that the request forces, or text when it forces
//! none.

use super::reply::Reply;
use super::request::Request;
use serde_json::{Value, json};

pub(super) fn whole(reply: &Reply, request: &Request) -> Value {
    if let Some(message) = &reply.error_midway {
        return error(message);
    }
    let input: Option<Value> = serde_json::from_str(&reply.words()).ok();
    let content = match (request.named_role(), input) {
        (Some(tool), Some(input)) => json!({"type": "tool_use", "id": "toolu_1", "name": tool, "input": input}),
        _ => json!({"type": "text", "text": reply.words()}),
    };
    let mut answer = message(request);
    answer["content"] = json!([content]);
    answer["stop_reason"] = json!(finish(reply, request));
    if !reply.no_usage {
        answer["usage"] = merged(input_usage(reply), output_usage(reply));
    }
    answer
}

/// The events before, during and after the answer.
pub(super) fn stream(reply: &Reply, request: &Request) -> [Vec<String>; 3] {
    let mut start = message(request);
    let mut end =
        json!({"type": "message_delta", "delta": {"stop_reason": finish(reply, request), "stop_sequence": null}});
    if !reply.no_usage {
        start["usage"] = input_usage(reply);
        end["usage"] = output_usage(reply);
    }
    let block = match request.named_role() {
        Some(tool) => json!({"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}),
        None => json!({"type": "text", "text": ""}),
    };
    let delta = |piece: &String| match request.named_role() {
        Some(_) => json!({"type": "input_json_delta", "partial_json": piece}),
        None => json!({"type": "text_delta", "text": piece}),
    };
    let before = vec![
        event(&json!({"type": "message_start", "message": start})),
        event(&json!({"type": "content_block_start", "index": 0, "content_block": block})),
    ];
    let during = reply
        .pieces()
        .iter()
        .map(|piece| event(&json!({"type": "content_block_delta", "index": 0, "delta": delta(piece)})))
        .collect();
    let after = vec![
        event(&json!({"type": "content_block_stop", "index": 0})),
        event(&end),
        event(&json!({"type": "message_stop"})),
    ];
    [before, during, after]
}

pub(super) fn ping() -> String {
    event(&json!({"type": "ping"}))
}

pub(super) fn error(message: &str) -> Value {
    json!({"type": "error", "error": {"type": "overloaded_error", "message": message}})
}

pub(super) fn error_event(message: &str) -> String {
    event(&error(message))
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn message(request: &Request) -> Value {
    let id = format!("msg-{}-{}", request.role, request.nth);
    json!({"id": id, "type": "message", "role": "assistant", "model": request.model(), "content": [], "stop_reason": null})
}

fn finish(reply: &Reply, request: &Request) -> String {
    let ordinary = if request.named_role().is_some() { "tool_use" } else { "end_turn" };
    reply.finish.clone().unwrap_or_else(|| ordinary.to_owned())
}

/// Anthropic leaves cached tokens out of `input_tokens`.
fn input_usage(reply: &Reply) -> Value {
    let (input, cached, _) = reply.figures();
    let honest = json!({"input_tokens": input - cached.min(input), "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached, "output_tokens": 1});
    reply.raw_usage.clone().unwrap_or(honest)
}

fn output_usage(reply: &Reply) -> Value {
    reply.raw_usage.clone().unwrap_or_else(|| json!({"output_tokens": reply.figures().2}))
}

fn merged(mut one: Value, other: Value) -> Value {
    if let (Some(one), Value::Object(other)) = (one.as_object_mut(), other) {
        one.extend(other);
    }
    one
}
