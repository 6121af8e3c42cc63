//! Schemas reach the server as the prompts list them. A model that is held to a schema fills in its fields in that order.

use crate::harness::{Setup, TestClient, WIRE_FORMATS};
use effects::model::{ProviderKind, SchemaMode};
use engine::model::Role;
use engine::prompts;
use engine::request::Speaker;
use engine::role_schema::RoleSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use simulation::scripted::{Reply, Request, Scripted};
use std::sync::{Arc, Mutex};

async fn sent(kind: ProviderKind, mode: SchemaMode, role: Role, schema: &'static RoleSchema) -> Request {
    let server = Scripted::start().await;
    let seen = Arc::new(Mutex::new(None));
    let keep = seen.clone();
    server.answer(role.name(), move |request| {
        *keep.lock().unwrap() = Some(request.clone());
        Reply::json(json!({"ok": true}))
    });
    let client = TestClient::with(kind, &server.url(), Setup { schema_mode: Some(mode), ..Setup::default() });
    let messages = vec![(Speaker::User, "## objective\n\"Compare\"\n".to_owned())];
    client.call(role, schema, messages, "i1.plan:1", None).await.expect("an answer");
    seen.lock().unwrap().take().expect("a request")
}

/// The part of a request that has the schema in it, byte for byte.
fn holder(request: &Request) -> &str {
    #[derive(Deserialize)]
    struct Sent<'a> {
        #[serde(borrow)]
        response_format: Option<&'a RawValue>,
        #[serde(borrow)]
        tools: Option<&'a RawValue>,
    }
    let sent: Sent<'_> = serde_json::from_str(&request.text).expect("JSON");
    sent.response_format.or(sent.tools).expect("a schema").get()
}

/// The schema in a prompt file, without the white space outside of strings.
fn listed(role: Role) -> String {
    let (_, rest) = prompts::system(role).split_once("```json schema\n").expect("a schema");
    let (schema, _) = rest.split_once("\n```").expect("a closed schema");
    let (mut quoted, mut escaped) = (false, false);
    let kept = schema.chars().filter(|letter| {
        quoted ^= *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        quoted || !letter.is_whitespace()
    });
    kept.collect()
}

#[tokio::test]
async fn m1_every_role_is_sent_its_schema_as_its_prompt_lists_it() {
    for role in Role::ALL {
        let (schema, listed) = (prompts::schema(role), listed(role));
        // When the server holds the model to the schema, it gets the bytes of the prompt
        for kind in WIRE_FORMATS {
            let request = sent(kind, SchemaMode::Schema, role, schema).await;
            let holder = holder(&request);
            assert!(holder.contains(&format!("schema\":{listed}")), "{}: {holder}\nnot {listed}", role.name());
        }
        // When it does not, the schema is in the instructions, in the same order
        for (kind, mode) in [
            (ProviderKind::Openai, SchemaMode::JsonObject),
            (ProviderKind::Openai, SchemaMode::Text),
            (ProviderKind::Anthropic, SchemaMode::Text),
        ] {
            let body = sent(kind, mode, role, schema).await.body;
            let first = if kind == ProviderKind::Openai { &body["messages"][0]["content"] } else { &body["system"] };
            assert!(first.as_str().expect("a text").ends_with(&format!("\n{listed}")), "{}: {first}", role.name());
        }
    }
}

#[tokio::test]
async fn m1_a_planner_with_subagents_keeps_the_order_and_names_the_agent_last() {
    const FIELD: &str = r#","agent":{"type":["string","null"]}"#;
    for role in Role::ALL {
        let Some(schema) = prompts::schema_with_agents(role) else { continue };
        for kind in WIRE_FORMATS {
            let request = sent(kind, SchemaMode::Schema, role, schema).await;
            let holder = holder(&request);
            assert!(holder.contains(&format!("{FIELD}}}")) && holder.contains(r#","agent"]"#), "{holder}");
            let without = holder.replacen(FIELD, "", 1).replacen(r#","agent"]"#, "]", 1);
            assert!(without.contains(&listed(role)), "{}: {holder}", role.name());
        }
    }
}

/// BLESS=1 writes the bytes anew.
#[tokio::test]
async fn m1_the_bytes_of_every_schema_are_golden() {
    for role in Role::ALL {
        let mut text = String::new();
        let with_agents = prompts::schema_with_agents(role).map(|schema| (" with subagents", schema));
        for (whose, schema) in [("", prompts::schema(role))].into_iter().chain(with_agents) {
            for kind in WIRE_FORMATS {
                let request = sent(kind, SchemaMode::Schema, role, schema).await;
                text += &format!("{}{whose}\n{}\n", kind.name(), holder(&request));
            }
        }
        let golden = format!("{}/tests/golden/schemas/{}.txt", env!("CARGO_MANIFEST_DIR"), role.name());
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &text).expect("written");
        }
        let kept = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(kept, text, "{golden}: run with BLESS=1 after reading the difference");
    }
}

/// A field that the wire has beside the schema is neither lost nor doubled.
#[tokio::test]
async fn m1_the_rest_of_the_request_stays_as_it_was() {
    let schema = prompts::schema(Role::HomeworkReport);
    let openai = sent(ProviderKind::Openai, SchemaMode::Schema, Role::HomeworkReport, schema).await;
    let user = json!([{"role": "user", "content": "## objective\n\"Compare\"\n"}]);
    assert_eq!(
        openai.body,
        json!({"model": "scripted", "messages": user, "max_tokens": 500, "stream": true, "stream_options": {"include_usage": true},
            "response_format": {"type": "json_schema", "json_schema": {"name": "homework_report", "schema": schema.value, "strict": true}}})
    );
    let anthropic = sent(ProviderKind::Anthropic, SchemaMode::Schema, Role::HomeworkReport, schema).await;
    assert_eq!(
        anthropic.body,
        json!({"model": "scripted", "messages": user, "max_tokens": 500, "stream": true,
            "tools": [{"name": "homework_report", "description": "Gives the answer.", "input_schema": schema.value}],
            "tool_choice": {"type": "tool", "name": "homework_report"}})
    );
    assert_eq!(anthropic.headers["content-type"], "application/json");
    let object = sent(ProviderKind::Openai, SchemaMode::JsonObject, Role::HomeworkReport, schema).await;
    assert_eq!(object.body["response_format"], json!({"type": "json_object"}));
    let text = sent(ProviderKind::Openai, SchemaMode::Text, Role::HomeworkReport, schema).await;
    assert_eq!(text.body.get("response_format"), None::<&Value>);
}
