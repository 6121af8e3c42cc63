//! Example bodies for the API document, made from their schemas: the required fields, with values a person might send.

use super::schema::Schema;
use serde_json::{Map, Value, json};

/// Values for well-known fields; those of other fields follow from their schema.
const WORDS: [(&str, &str); 14] = [
    ("objective", "Compare three backup tools and recommend one"),
    ("title", "Backup tools"),
    ("description", "What we know about them"),
    ("content", "# Backup tools\n\nNone is chosen yet."),
    ("text", "Prefer the one that verifies what it wrote"),
    ("message", "Go on, and be brief"),
    ("name", "laptop"),
    ("handle", "ann"),
    ("actor", "ann"),
    ("url", "https://hooks.example.org/pleach"),
    ("kind", "homework"),
    ("token", "pleach_0000000000000000000000000000000000000000000000000000000000000000"),
    ("note", "seen in the other system's log"),
    ("model", "rehearsal/default"),
];

pub(super) fn body(schema: &Schema) -> Value {
    value("", schema)
}

fn value(field: &str, schema: &Schema) -> Value {
    if let Some(first) = schema["enum"].get(0).or_else(|| schema["examples"].get(0)) {
        return first.clone();
    }
    if let Some(one) = schema["anyOf"].get(0) {
        return value(field, one);
    }
    match schema["type"].as_str() {
        Some("object") => object(schema),
        Some("array") => json!([value(field, &schema["items"])]),
        Some("boolean") => json!(true),
        Some("integer" | "number") => {
            schema.get("minimum").cloned().filter(|least| *least != json!(0)).unwrap_or(json!(1))
        }
        _ => words(field, schema),
    }
}

fn words(field: &str, schema: &Schema) -> Value {
    match schema["format"].as_str() {
        Some("uuid") => json!("01a1de11-0000-7000-8000-000000000009"),
        Some("date-time") => json!("2030-01-01T00:00:00.000Z"),
        _ => json!(WORDS.iter().find(|(known, _)| *known == field).map_or("walnut", |(_, words)| words)),
    }
}

/// The required fields; where none is required, the first optional one.
fn object(schema: &Schema) -> Value {
    let none = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&none);
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let named = |name: &str| Some((name.to_owned(), value(name, fields.get(name)?)));
    match required.is_empty() {
        true => fields.keys().next().and_then(|name| named(name)).into_iter().collect::<Map<_, _>>().into(),
        false => required.into_iter().filter_map(named).collect::<Map<_, _>>().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::{form, id, list_of, nullable, text, whole};
    use super::*;

    #[test]
    fn an_example_has_the_required_fields() {
        let answer = form([("question_id", id()), ("text", text())], [("other", text())]);
        let schema = form([("answers", list_of(answer)), ("limit", whole(3, 9))], [("more", nullable(text()))]);
        let (id, words) = ("01a1de11-0000-7000-8000-000000000009", "Prefer the one that verifies what it wrote");
        assert_eq!(body(&schema), json!({"answers": [{"question_id": id, "text": words}], "limit": 3}));
        assert_eq!(body(&form([], [("title", text())])), json!({"title": "Backup tools"}));
    }
}
