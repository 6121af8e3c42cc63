//! The schema mode falls back from schema to JSON object to text, only if the server refuses the form, and is remembered.

use crate::harness::{Setup, TestClient, fails};
use effects::model::{ProviderKind, SchemaMode};
use engine::effect::CallFailure;
use engine::model::Role;
use serde_json::{Value, json};
use simulation::scripted::{Reply, Request, Scripted};

fn refuse(field: &str) -> Reply {
    Reply::status(
        400,
        json!({"error": {"message": format!("Unsupported parameter: '{field}'"), "param": field}}).to_string(),
    )
}

fn ok() -> Reply {
    Reply::json(json!({"ok": true}))
}

async fn server(answer: impl Fn(&Request) -> Reply + Send + Sync + Clone + 'static) -> Scripted {
    let server = Scripted::start().await;
    for role in Role::ALL {
        server.answer(role.name(), answer.clone());
    }
    server
}

fn formats(server: &Scripted) -> Vec<Value> {
    server.ledger().iter().map(|entry| entry.body["response_format"]["type"].clone()).collect()
}

#[tokio::test]
async fn e3_the_schema_mode_falls_back_on_refusal_and_is_remembered() {
    let server = server(|request| match request.body["response_format"]["type"].as_str() {
        Some("json_schema") => refuse("response_format.json_schema"),
        Some(_) => refuse("response_format"),
        None => ok(),
    })
    .await;
    let client = TestClient::at(ProviderKind::Openai, &server.url());
    client.ask().await.unwrap();
    client.ask_as(Role::HomeworkReport, "i1.report:1", None).await.unwrap();
    assert_eq!(formats(&server), [json!("json_schema"), json!("json_object"), Value::Null, Value::Null]);
    for entry in server.ledger() {
        assert!(["i1.plan:1", "i1.report:1"].contains(&entry.key.as_str()));
        assert_eq!(
            entry.role,
            if entry.key == "i1.plan:1" { "homework_planner" } else { "homework_report" },
            "every schema mode sends the header"
        );
    }
    let last = &server.ledger()[3].body["messages"][0]["content"];
    assert!(last.as_str().unwrap().contains("JSON Schema"), "the other modes have the schema in the prompt");
}

#[tokio::test]
async fn the_schema_mode_is_learned_per_model() {
    let server =
        server(
            |request| {
                if request.model() == "old" && request.named_role().is_some() { refuse("json_schema") } else { ok() }
            },
        )
        .await;
    TestClient::with(ProviderKind::Openai, &server.url(), Setup { model: "old", ..Setup::default() })
        .ask()
        .await
        .unwrap();
    TestClient::with(ProviderKind::Openai, &server.url(), Setup { model: "new", ..Setup::default() })
        .ask()
        .await
        .unwrap();
    assert_eq!(formats(&server), ["json_schema", "json_object", "json_schema"]);
}

#[tokio::test]
async fn e3_anthropic_without_tools_gets_the_schema_in_the_prompt() {
    let server = server(|request| if request.named_role().is_some() { refuse("tool_choice") } else { ok() }).await;
    let client = TestClient::at(ProviderKind::Anthropic, &server.url());
    assert_eq!(client.ask().await.unwrap().text, "{\"ok\":true}");
    client.ask().await.unwrap();
    assert_eq!(server.ledger().len(), 3);
    assert!(server.ledger()[2].body["system"].as_str().unwrap().contains("JSON Schema"));
}

#[tokio::test]
async fn a_failing_server_does_not_lose_its_schema() {
    let server = Scripted::start().await;
    let unwell = || Reply::status(500, "response_format worker crashed");
    let busy = || Reply::status(429, "json_schema queue is full");
    let odd = || Reply::status(400, "the tool result is odd");
    server.on("homework_planner", vec![unwell(), busy(), odd(), odd(), odd(), ok()]);
    let client = TestClient::at(ProviderKind::Openai, &server.url());
    for _ in 0..3 {
        client.ask().await.unwrap_err();
    }
    client.ask().await.unwrap();
    assert_eq!(formats(&server).last().unwrap(), "json_schema", "what never worked is not remembered");
}

#[tokio::test]
async fn max_completion_tokens_is_learned() {
    let server = server(|request| {
        if request.body.get("max_tokens").is_some() {
            return Reply::status(400, r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}"#);
        }
        ok()
    })
    .await;
    let client = TestClient::at(ProviderKind::Openai, &server.url());
    client.ask().await.unwrap();
    client.ask().await.unwrap();
    let ledger = server.ledger();
    assert_eq!(ledger.len(), 3);
    assert!(ledger[1..].iter().all(|entry| entry.body["max_completion_tokens"] == 500 && entry.named_role.is_some()));
}

#[tokio::test]
async fn a_server_without_streaming_is_called_without_it() {
    for kind in [ProviderKind::Openai, ProviderKind::Anthropic] {
        let server = server(|request| if request.streaming() { refuse("stream") } else { ok() }).await;
        let client = TestClient::at(kind, &server.url());
        client.ask().await.unwrap();
        client.ask().await.unwrap();
        assert_eq!(server.ledger().len(), 3);
        assert!(server.ledger()[2].named_role.is_some(), "the schema is kept");
    }
}

#[tokio::test]
async fn configuration_can_switch_streaming_off() {
    let server = server(|_| ok()).await;
    TestClient::with(ProviderKind::Openai, &server.url(), Setup { stream: Some(false), ..Setup::default() })
        .ask()
        .await
        .unwrap();
    assert_eq!(server.ledger()[0].body.get("stream"), None);
}

#[tokio::test]
async fn several_refused_forms_are_still_one_call() {
    let server = server(|request| {
        let body = &request.body;
        match () {
            _ if body.get("max_tokens").is_some() => refuse("max_tokens"),
            _ if request.streaming() => {
                Reply::status(422, r#"{"detail":[{"loc":["body","stream_options"],"type":"extra_forbidden"}]}"#)
            }
            _ if body.get("response_format").is_some() => {
                Reply::status(422, r#"{"detail":[{"loc":["body","response_format"],"type":"literal_error"}]}"#)
            }
            _ => ok(),
        }
    })
    .await;
    assert_eq!(TestClient::at(ProviderKind::Openai, &server.url()).ask().await.unwrap().text, "{\"ok\":true}");
    assert_eq!(server.ledger().len(), 5);
}

#[tokio::test]
async fn a_configured_schema_mode_never_falls_back() {
    let server = server(|_| refuse("response_format")).await;
    let client = TestClient::with(
        ProviderKind::Openai,
        &server.url(),
        Setup { schema_mode: Some(SchemaMode::JsonObject), ..Setup::default() },
    );
    fails(client.ask().await, CallFailure::Rejected);
    assert_eq!(formats(&server), ["json_object"]);
}
