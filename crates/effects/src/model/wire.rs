//! What the two wire formats share: building the request of a call, and reading its answer.

use super::capabilities::Capabilities;
use super::config::{ProviderKind, SchemaMode};
use super::partial_reply::PartialReply;
use super::{anthropic, openai};
use engine::request::Speaker;
use engine::role_schema::RoleSchema;
use http_client::sse::Event;
use reqwest::RequestBuilder;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

/// One call, before it is written in a wire format.
pub(super) struct ModelRequest<'a> {
    pub role: &'static str,
    pub model: &'a str,
    pub messages: &'a [(Speaker, String)],
    pub schema: &'a RoleSchema,
    pub max_tokens: u32,
}

pub(super) trait WireFormat: Sync {
    /// The path below the base URL.
    fn path(&self) -> &'static str;
    fn authorize(&self, headers: &mut HeaderMap, api_key: Option<&HeaderValue>);
    /// Adds the body. It is written straight from what it is made of, because a `Value` would sort the fields of the schema.
    fn with_body(
        &self,
        http_request: RequestBuilder,
        request: &ModelRequest<'_>,
        capabilities: Capabilities,
    ) -> RequestBuilder;
    /// Reads one event of a stream; true if it was more than a keep-alive.
    fn event(&self, event: &Event, reply: &mut PartialReply) -> Result<bool, serde_json::Error>;
    /// Reads an answer that was not streamed.
    fn whole(&self, answer: &Value, reply: &mut PartialReply);
    /// Whether the answer is complete, after the connection was closed cleanly.
    fn finished(&self, reply: &PartialReply) -> bool;
}

pub(super) fn of(kind: ProviderKind) -> Option<&'static dyn WireFormat> {
    match kind {
        ProviderKind::Openai => Some(&openai::Chat),
        ProviderKind::Anthropic => Some(&anthropic::Messages),
        ProviderKind::Rehearsal => None,
    }
}

/// The sentence that states the schema in the prompt, for servers that do not enforce it.
pub(super) fn instruction(request: &ModelRequest<'_>, format: SchemaMode) -> Option<String> {
    (format != SchemaMode::Schema).then(|| {
        format!("Answer with one JSON object and nothing else. It must fit this JSON Schema:\n{}", request.schema.text)
    })
}

/// The text of an error that a server reports inside an answer.
pub(super) fn error_text(answer: &Value) -> Option<String> {
    let error = answer.get("error").filter(|error| !error.is_null())?;
    let message = error.get("message").and_then(Value::as_str).or(error.as_str());
    let class = error.get("code").and_then(Value::as_str).or(error.get("type").and_then(Value::as_str));
    Some(match (class, message) {
        (Some(class), Some(message)) => format!("{class}: {message}"),
        (None, Some(message)) => message.to_owned(),
        _ => error.to_string(),
    })
}

/// Whether a provider can enforce the schema in its strict mode: every object closed, every property required. Answers to a
/// schema with an open object (`arguments`, `params`, `json`) are checked only by us.
pub(super) fn is_closed(schema: &Value) -> bool {
    let Value::Object(map) = schema else {
        return schema.as_array().is_none_or(|items| items.iter().all(is_closed));
    };
    // An empty schema allows any value.
    if map.is_empty() {
        return false;
    }
    let object = map
        .get("type")
        .is_some_and(|kind| kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&"object".into())));
    let properties = map.get("properties").and_then(Value::as_object);
    let required = map.get("required").and_then(Value::as_array);
    let all_required = properties.is_none_or(|properties| {
        properties.keys().all(|name| required.is_some_and(|required| required.iter().any(|item| item == name.as_str())))
    });
    let closed = !object || (map.get("additionalProperties") == Some(&Value::Bool(false)) && all_required);
    closed && map.values().all(is_closed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_schemas_closed_all_the_way_down_are_strict() {
        let closed = json!({"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {"type": "string"}}});
        assert!(is_closed(&closed));
        assert!(!is_closed(&json!({"type": "object"})));
        let anything =
            json!({"type": "object", "additionalProperties": false, "required": ["json"], "properties": {"json": {}}});
        assert!(!is_closed(&anything));
        let optional = json!({"type": "object", "additionalProperties": false, "required": [], "properties": {"a": {"type": "string"}}});
        assert!(!is_closed(&optional));
        let nested = json!({"type": "object", "additionalProperties": false, "required": ["a"],
            "properties": {"a": {"type": "array", "items": {"type": ["object", "null"]}}}});
        assert!(!is_closed(&nested));
    }
}
