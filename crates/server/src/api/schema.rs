//! JSON schemas of request and response bodies, written by hand: the engine's records must not depend on a schema library, and
//! tests check real responses against these schemas.

use serde_json::{Value, json};

/// A JSON Schema (2020-12, as OpenAPI 3.1 uses it).
pub(super) type Schema = Value;

/// Moves its values: `json!` would copy every schema once for each level of nesting.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Schema {
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Schemas without parameters, each a function of its name.
macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident: $schema:tt),* $(,)?) => {
        $($(#[$doc])* pub(super) fn $name() -> Schema { json!($schema) })*
    };
}

plain! {
    text: {"type": "string"},
    /// A secret is shown in one response only, and no copy of that response is kept for repeated requests.
    secret: {"type": "string", "format": SECRET},
    id: {"type": "string", "format": "uuid"},
    time: {"type": "string", "format": "date-time"},
    flag: {"type": "boolean"},
    /// A count or position: not negative.
    count: {"type": "integer", "minimum": 0},
    amount: {"type": "number", "minimum": 0},
    anything: {},
    /// An object with any keys.
    open: {"type": "object"},
}

const SECRET: &str = "password";

/// Whether the schema has a secret at any depth.
pub(super) fn has_secret(schema: &Schema) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("format").is_some_and(|format| format == SECRET) || fields.values().any(has_secret)
        }
        Value::Array(items) => items.iter().any(has_secret),
        _ => false,
    }
}

/// Finds a value that is not an object although the schema wants one, and says where. Nulls are left to serde.
pub(super) fn not_an_object(schema: &Schema, value: &Value, at: &str) -> Option<String> {
    if value.is_null() {
        return None;
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let choices = choices.iter().filter(|choice| choice["type"] != "null");
        let misfits: Option<Vec<String>> = choices.map(|choice| not_an_object(choice, value, at)).collect();
        return misfits.and_then(|misfits| misfits.into_iter().next());
    }
    match (schema["type"].as_str(), value) {
        (Some("object"), Value::Object(fields)) => fields.iter().find_map(|(name, value)| {
            let of = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
            let place = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            not_an_object(of, value, &place)
        }),
        (Some("object"), other) => {
            let place = if at.is_empty() { "it".to_owned() } else { format!("`{at}`") };
            Some(format!("{place} is {}; expected an object", kind(other)))
        }
        (Some("array"), Value::Array(items)) => {
            let place = |index: usize| format!("{at}[{index}]");
            items.iter().enumerate().find_map(|(index, item)| not_an_object(&schema["items"], item, &place(index)))
        }
        _ => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Text of 1 to `most` characters that is not blank.
pub(super) fn words(most: usize) -> Schema {
    json!({"type": "string", "minLength": 1, "maxLength": most, "pattern": "\\S"})
}

pub(super) fn whole(least: i64, most: i64) -> Schema {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

/// An object with any keys and one schema for all values.
pub(super) fn map_of(schema: Schema) -> Schema {
    object([("type", "object".into()), ("additionalProperties", schema)])
}

pub(super) fn list_of(of: Schema) -> Schema {
    object([("type", "array".into()), ("items", of)])
}

pub(super) fn up_to(most: usize, of: Schema) -> Schema {
    object([("type", "array".into()), ("items", of), ("maxItems", most.into())])
}

pub(super) fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Schema {
    json!({"type": "string", "enum": words.into_iter().collect::<Vec<_>>()})
}

pub(super) fn nullable(schema: Schema) -> Schema {
    object([("anyOf", Value::Array(vec![schema, json!({"type": "null"})]))])
}

/// The schema of a response: later versions may add fields. Fields after the semicolon are optional.
macro_rules! record {
    ($name:literal: $($fields:tt)*) => { $crate::api::schema::named($name, record!($($fields)*)) };
    ($($field:ident: $schema:expr),* $(,)? $(; $($maybe:ident: $of:expr),* $(,)?)?) => {
        $crate::api::schema::record([$((stringify!($field), $schema)),*], [$($((stringify!($maybe), $of)),*)?])
    };
}

/// The schema of a request body: unknown fields are refused. Fields after the semicolon are optional.
macro_rules! form {
    ($name:literal: $($fields:tt)*) => { $crate::api::schema::named($name, form!($($fields)*)) };
    ($($field:ident: $schema:expr),* $(,)? $(; $($maybe:ident: $of:expr),* $(,)?)?) => {
        $crate::api::schema::form([$((stringify!($field), $schema)),*], [$($((stringify!($maybe), $of)),*)?])
    };
}

/// A field and its schema.
type Field<'a> = (&'a str, Schema);

/// Like the macro, for computed fields.
pub(super) fn record<const N: usize, const M: usize>(required: [Field; N], optional: [Field; M]) -> Schema {
    fields(required.into(), optional.into())
}

/// Like the macro, for computed fields.
pub(super) fn form<const N: usize, const M: usize>(required: [Field; N], optional: [Field; M]) -> Schema {
    let mut schema = record(required, optional);
    schema["additionalProperties"] = Value::Bool(false);
    schema
}

/// Not generic, so that it is compiled once and not for each pair of lengths.
fn fields(required: Vec<Field>, optional: Vec<Field>) -> Schema {
    let names = required.iter().map(|(name, _)| Value::from(*name)).collect();
    let fields = required.into_iter().chain(optional).map(|(name, schema)| (name.to_owned(), schema));
    let fields = Value::Object(fields.collect());
    object([("type", "object".into()), ("properties", fields), ("required", Value::Array(names))])
}

/// A record with the fields of both, those of `base` first.
pub(super) fn extended(mut base: Schema, more: Schema) -> Schema {
    for (field, value) in more["properties"].as_object().into_iter().flatten() {
        base["properties"][field] = value.clone();
    }
    if let (Some(required), Some(also)) = (base["required"].as_array_mut(), more["required"].as_array()) {
        required.extend(also.iter().cloned());
    }
    base
}

/// Gives a schema a name: the API document then has it once and refers to it.
pub(super) fn named(name: &str, mut schema: Schema) -> Schema {
    schema["title"] = Value::from(name);
    schema
}

/// A page of a list, and the cursor of the next page.
pub(super) fn page(of: Schema) -> Schema {
    record([("items", list_of(of)), ("next_cursor", nullable(text()))], [])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r10_a_list_in_place_of_an_object_is_found_at_any_depth() {
        let limits = || form([], [("max_tokens", count())]);
        let schema = form(
            [("answers", list_of(form([("text", text())], [])))],
            [("budgets", nullable(limits())), ("props", open())],
        );
        for (value, said) in [
            (json!([]), "it is a list; expected an object"),
            (json!({"budgets": []}), "`budgets` is a list; expected an object"),
            (json!({"budgets": 5}), "`budgets` is a number; expected an object"),
            (json!({"answers": [{"text": "x"}, ["x"]]}), "`answers[1]` is a list; expected an object"),
            (json!({"props": "x"}), "`props` is a text; expected an object"),
        ] {
            assert_eq!(not_an_object(&schema, &value, "").as_deref(), Some(said), "{value}");
        }
        for fine in [json!({}), json!({"budgets": null, "props": {"any": []}, "answers": []}), json!({"other": []})] {
            assert_eq!(not_an_object(&schema, &fine, ""), None, "{fine}");
        }
    }

    #[test]
    fn x9_a_secret_is_found_at_any_depth_of_a_schema() {
        assert!(has_secret(&record([("token", secret()), ("record", open())], [])));
        assert!(has_secret(&list_of(record([], [("made", nullable(record([("key", secret())], [])))]))));
        assert!(!has_secret(&record([("token", text()), ("format", text())], [])));
    }
}
