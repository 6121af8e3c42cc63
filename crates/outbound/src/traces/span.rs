//! A span as OTLP's JSON has it. Names are those of OpenTelemetry's conventions for generative AI; what was said to or by
//! a model is never in one.

use engine::blob::Hash;
use engine::ids::RunId;
use engine::time::Timestamp;
use serde_json::{Value, json};

/// Eight bytes derived from what the span is about, so that a span sent twice has the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId([u8; 8]);

impl SpanId {
    pub fn of(run: RunId, what: &str) -> SpanId {
        let hash = Hash::of(&[b"span", run.0.as_bytes(), what.as_bytes()]);
        let mut id = [0; 8];
        id.copy_from_slice(&hash.0[..8]);
        SpanId(id)
    }

    fn text(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Within the process, or a call that leaves it; by OTLP's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    Internal = 1,
    Client = 3,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub run: RunId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub name: String,
    pub kind: SpanKind,
    pub began: Timestamp,
    pub ended: Timestamp,
    pub attributes: Vec<(&'static str, Value)>,
    /// `error.type`: one of a few words, for something that did not go well.
    pub error: Option<String>,
}

impl Span {
    pub fn json(&self) -> Value {
        let attributes = self.attributes.iter().map(|(name, value)| (*name, value.clone()));
        let error = self.error.iter().map(|word| ("error.type", Value::from(word.as_str())));
        let mut span = json!({
            // A run is a trace, by the same sixteen bytes.
            "traceId": self.run.0.simple().to_string(),
            "spanId": self.id.text(),
            "name": self.name,
            "kind": self.kind as u8,
            "startTimeUnixNano": nanos(self.began),
            "endTimeUnixNano": nanos(self.ended),
            "attributes": attributes.chain(error).map(attribute).collect::<Vec<_>>(),
            "status": if self.error.is_some() { json!({"code": 2}) } else { json!({}) },
        });
        if let Some(parent) = self.parent {
            span["parentSpanId"] = parent.text().into();
        }
        span
    }
}

/// 64-bit numbers are texts in the JSON of protocol buffers.
fn nanos(at: Timestamp) -> String {
    format!("{}000000", at.0)
}

pub(crate) fn attribute((name, value): (&'static str, Value)) -> Value {
    let value = match value {
        Value::Bool(yes) => json!({"boolValue": yes}),
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"stringValue": other.to_string()}),
    };
    json!({"key": name, "value": value})
}
