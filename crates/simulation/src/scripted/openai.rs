//! A reply in the format of OpenAI Chat Completions.

use super::reply::Reply;
use super::request::Request;
use serde_json::{Value, json};

pub(super) fn whole(reply: &Reply, request: &Request) -> Value {
    let mut answer = json!({
        "id": id(request), "object": "chat.completion", "model": request.model(),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": reply.words()}, "finish_reason": finish(reply)}],
    });
    if let Some(usage) = usage(reply) {
        answer["usage"] = usage;
    }
    if let Some(message) = &reply.error_midway {
        answer = error(message);
    }
    answer
}

/// The events before, during and after the answer.
pub(super) fn stream(reply: &Reply, request: &Request) -> [Vec<String>; 3] {
    let chunk = |choices: Value| json!({"id": id(request), "object": "chat.completion.chunk", "model": request.model(), "choices": choices});
    let choice =
        |delta: Value, finish: Option<&str>| chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]));
    let before = vec![data(&choice(json!({"role": "assistant", "content": ""}), None))];
    let during = reply.pieces().iter().map(|piece| data(&choice(json!({"content": piece}), None))).collect();
    let mut after = vec![data(&choice(json!({}), Some(&finish(reply))))];
    if request.body["stream_options"]["include_usage"] == true
        && let Some(usage) = usage(reply)
    {
        let mut last = chunk(json!([]));
        last["usage"] = usage;
        after.push(data(&last));
    }
    after.push("data: [DONE]\n\n".to_owned());
    [before, during, after]
}

pub(super) fn ping() -> String {
    ": keep-alive\n\n".to_owned()
}

pub(super) fn error(message: &str) -> Value {
    json!({"error": {"message": message, "type": "server_error", "code": null}})
}

pub(super) fn error_event(message: &str) -> String {
    data(&error(message))
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn finish(reply: &Reply) -> String {
    reply.finish.clone().unwrap_or_else(|| "stop".to_owned())
}

fn usage(reply: &Reply) -> Option<Value> {
    let (input, cached, output) = reply.figures();
    let honest = json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": cached},
    });
    (!reply.no_usage).then(|| reply.raw_usage.clone().unwrap_or(honest))
}

fn id(request: &Request) -> String {
    format!("chatcmpl-{}-{}", request.role, request.nth)
}
