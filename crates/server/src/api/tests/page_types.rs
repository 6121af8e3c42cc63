//! The web page's types are made from the shapes this server publishes and from the payloads of its events, and kept beside
//! the page's source so that it builds without a server. `BLESS=1` writes them anew.

use super::super::{openapi, table};
use engine::actor::Actor;
use engine::facts;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::fmt::Write;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui/src/api/");
const SHAPES: &str = "\
// What the server takes and gives, made from the shapes it publishes at /openapi.json. Not to be edited:
// `BLESS=1 cargo test -p server page_types` writes it anew.
";
const EVENTS: &str = "\
// The events of a run's log, made from the facts the engine writes. Not to be edited:
// `BLESS=1 cargo test -p server page_types` writes it anew.
";
const EVENT: &str = "
/** One event of a run's log; `type` says which payload it has. */
export type Event = {
  [Type in keyof EventPayloads]: {
    runId: string;
    seq: number;
    nodeId?: string;
    parentNodeId?: string;
    type: Type;
    timestamp: string;
    actor: Actor;
    hash: string;
    payload: EventPayloads[Type];
  };
}[keyof EventPayloads];
";

#[test]
fn page_types_are_those_the_server_publishes() {
    assert_committed("shapes.ts", &shapes());
}

#[test]
fn page_types_of_events_are_those_the_engine_logs() {
    assert_committed("events.ts", &events());
}

fn assert_committed(file: &str, made: &str) {
    let path = format!("{FOLDER}{file}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, made).expect("the page's source can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "ui/src/api/{file} is not what this source makes: run this test with BLESS=1");
}

fn shapes() -> String {
    format!("{SHAPES}{}", typescript(&openapi::document(&table(), "session")["components"]["schemas"]))
}

/// One interface per payload, named by its event's type, beside what payloads share.
fn events() -> String {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<Actor>();
    let payloads = facts::schemas(&mut generator);
    let mut types: Map<String, Value> = generator.take_definitions(true);
    let mut by_type = Map::new();
    for (kind, schema) in payloads {
        let name = camel(kind);
        by_type.insert(kind.into(), json!({ "$ref": name }));
        assert!(types.insert(name, schema.to_value()).is_none(), "{kind} has the name of something in a payload");
    }
    types.values_mut().for_each(never_null_when_absent);
    let required: Vec<&String> = by_type.keys().collect();
    let map = json!({ "EventPayloads": { "properties": by_type, "required": required } });
    format!("{EVENTS}{}{}{EVENT}", typescript(&Value::Object(types)), typescript(&map))
}

/// A field that is left out when there is nothing to say is never written as null.
fn never_null_when_absent(schema: &mut Value) {
    let is_something = |of: &Value| of != "null" && of["type"] != "null";
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (_, of) in properties.iter_mut().filter(|(name, _)| !required.contains(&json!(name))) {
        for choices in ["type", "anyOf"] {
            if let Some(list) = of.get_mut(choices).and_then(Value::as_array_mut) {
                list.retain(is_something);
            }
        }
    }
}

/// `run.question_asked` is `RunQuestionAsked`.
fn camel(kind: &str) -> String {
    let word = |word: &str| format!("{}{}", word[..1].to_uppercase(), &word[1..]);
    kind.split(['.', '_']).map(word).collect()
}

#[test]
fn page_types_say_what_may_be_null_and_what_may_be_absent() {
    let made = shapes();
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

#[test]
fn page_types_of_events_say_what_is_left_out_when_empty() {
    let made = events();
    for line in [
        "export type Lane = 'steer' | 'queue';",
        "export interface RunQuestionAsked {",
        "  deadlineAt?: string;",
        "  max_tokens: number | null;",
        "  'run.queued': RunQueued;",
        "export type Actor = { kind: 'platform'; } | { id: string; kind: 'person'; } | { id: string; kind: 'subagent'; };",
    ] {
        assert!(made.lines().any(|found| found == line), "{line} is not in\n{made}");
    }
    // Two types of one name would be told apart by a number.
    assert!(
        !made.lines().any(|line| line.starts_with("export") && line.contains(|c: char| c.is_ascii_digit())),
        "{made}"
    );
}

fn typescript(schemas: &Value) -> String {
    let mut out = String::new();
    for (name, schema) in sorted(schemas) {
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
        let name = if name.contains('.') { format!("'{name}'") } else { name.to_owned() };
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
    if let Some(word) = schema["const"].as_str() {
        return format!("'{word}'");
    }
    if let Some(joined) = all("anyOf", " | ").or_else(|| all("oneOf", " | ")).or_else(|| all("allOf", " & ")) {
        return joined;
    }
    if let Some(types) = schema["type"].as_array() {
        let one = |of: &Value| kind(&json!({ "type": of, "items": schema["items"] }));
        return types.iter().map(one).collect::<Vec<_>>().join(" | ");
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
