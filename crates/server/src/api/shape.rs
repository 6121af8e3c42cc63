//! JSON schemas of what the API takes and gives. Written by hand: the engine's records must not know of schemas,
//! and a schema that lies is caught by the tests that check real answers against it.

use serde_json::{Value, json};

/// A JSON Schema (2020-12, as OpenAPI 3.1 uses it).
pub type Shape = Value;

/// Moves what is put into it: `json!` would copy every shape once for each level it is nested in.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Shape {
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

pub fn text() -> Shape {
    json!({"type": "string"})
}

/// From one character to `most`, and not only spaces.
pub fn words(most: usize) -> Shape {
    json!({"type": "string", "minLength": 1, "maxLength": most, "pattern": "\\S"})
}

pub fn id() -> Shape {
    json!({"type": "string", "format": "uuid"})
}

pub fn time() -> Shape {
    json!({"type": "string", "format": "date-time"})
}

pub fn flag() -> Shape {
    json!({"type": "boolean"})
}

pub fn whole(least: i64, most: i64) -> Shape {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

/// Counts and positions: never negative, no bound worth stating.
pub fn count() -> Shape {
    json!({"type": "integer", "minimum": 0})
}

pub fn amount() -> Shape {
    json!({"type": "number", "minimum": 0})
}

pub fn anything() -> Shape {
    json!({})
}

/// An object whose keys are the caller's own.
pub fn open() -> Shape {
    json!({"type": "object"})
}

/// The same, with one shape for all that is in it.
pub fn map_of(shape: Shape) -> Shape {
    object([("type", "object".into()), ("additionalProperties", shape)])
}

pub fn list(of: Shape) -> Shape {
    object([("type", "array".into()), ("items", of)])
}

pub fn up_to(most: usize, of: Shape) -> Shape {
    object([("type", "array".into()), ("items", of), ("maxItems", most.into())])
}

pub fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Shape {
    json!({"type": "string", "enum": words.into_iter().collect::<Vec<_>>()})
}

pub fn nullable(shape: Shape) -> Shape {
    object([("anyOf", Value::Array(vec![shape, json!({"type": "null"})]))])
}

/// What is given: fields may be added in later versions.
pub fn record<const N: usize, const M: usize>(always: [(&str, Shape); N], sometimes: [(&str, Shape); M]) -> Shape {
    let required = always.iter().map(|(name, _)| Value::from(*name)).collect();
    let fields = always.into_iter().chain(sometimes).map(|(name, shape)| (name.to_owned(), shape));
    let fields = Value::Object(fields.collect());
    object([("type", "object".into()), ("properties", fields), ("required", Value::Array(required))])
}

/// What is taken: an unknown field is refused.
pub fn form<const N: usize, const M: usize>(always: [(&str, Shape); N], sometimes: [(&str, Shape); M]) -> Shape {
    let mut shape = record(always, sometimes);
    shape["additionalProperties"] = Value::Bool(false);
    shape
}

/// A shape with a name of its own in the document: written once, referred to everywhere.
pub fn named(name: &str, mut shape: Shape) -> Shape {
    shape["title"] = Value::from(name);
    shape
}

/// A part of a list, and where the next part starts.
pub fn page(of: Shape) -> Shape {
    record([("items", list(of)), ("next_cursor", nullable(text()))], [])
}
