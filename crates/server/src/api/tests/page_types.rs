//! The web page's types are made from the shapes this server publishes, and kept beside the page's source so that it
//! builds without a server. `BLESS=1` writes them anew.

use super::super::{openapi, table};
use serde_json::Value;
use std::fmt::Write;

const PLACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui/src/api/shapes.ts");
const HEAD: &str = "\
// What the server takes and gives, made from the shapes it publishes at /openapi.json. Not to be edited:
// `BLESS=1 cargo test -p server page_types` writes it anew.
";

#[test]
fn page_types_are_those_the_server_publishes() {
    let made = typescript(&openapi::document(&table(), "session"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(PLACE, &made).expect("the page's source can be written");
    }
    let kept = std::fs::read_to_string(PLACE).unwrap_or_default();
    assert!(kept == made, "ui/src/api/shapes.ts is not what the server publishes: run this test with BLESS=1");
}

#[test]
fn page_types_say_what_may_be_null_and_what_may_be_absent() {
    let made = typescript(&openapi::document(&table(), "session"));
    for line in [
        "export type Scope = 'global' | 'project' | 'multi_project';",
        "export interface Question {",
        "  answer: string | null;",
        "  node_id?: string;",
        "  by_model: Record<string, ModelMetrics>;",
        "  parent: (number | null)[];",
    ] {
        assert!(made.lines().any(|found| found == line), "{line} is not in\n{made}");
    }
}

fn typescript(document: &Value) -> String {
    let mut out = String::from(HEAD);
    for (name, schema) in sorted(&document["components"]["schemas"]) {
        let written = match schema["properties"].is_object() {
            true => write!(out, "\nexport interface {name} {{\n{}}}\n", fields(schema, "  ", "\n")),
            false => writeln!(out, "\nexport type {name} = {};", kind(schema)),
        };
        written.expect("text takes text");
    }
    out
}

fn fields(schema: &Value, before: &str, after: &str) -> String {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let field = |(name, of): (&str, &Value)| {
        let absent = if required.contains(&name) { "" } else { "?" };
        format!("{before}{name}{absent}: {};{after}", kind(of))
    };
    sorted(&schema["properties"]).into_iter().map(field).collect()
}

/// By name, whatever order the map keeps.
fn sorted(object: &Value) -> Vec<(&str, &Value)> {
    let mut entries: Vec<(&str, &Value)> =
        object.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect();
    entries.sort_by_key(|(name, _)| *name);
    entries
}

fn kind(schema: &Value) -> String {
    let all =
        |key: &str, by: &str| schema[key].as_array().map(|parts| parts.iter().map(kind).collect::<Vec<_>>().join(by));
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(|word| word.to_string().replace('"', "'")).collect::<Vec<_>>().join(" | ");
    }
    if let Some(joined) = all("anyOf", " | ").or_else(|| all("allOf", " & ")) {
        return joined;
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => "number".into(),
        Some("array") => many(&kind(&schema["items"])),
        Some("object") if schema["properties"].is_object() => format!("{{ {} }}", fields(schema, "", " ").trim_end()),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("Record<string, {}>", kind(&schema["additionalProperties"]))
        }
        Some("object") => "Record<string, unknown>".into(),
        Some(plain) => plain.into(),
        None => "unknown".into(),
    }
}

fn many(of: &str) -> String {
    if of.contains(" | ") || of.contains(" & ") { format!("({of})[]") } else { format!("{of}[]") }
}
