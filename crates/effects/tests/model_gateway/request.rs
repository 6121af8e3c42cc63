//! The requests that the gateway sends.

use crate::harness::{KEY, Setup, TestClient, WIRE_FORMATS};
use effects::model::ProviderKind;
use engine::model::Role;
use engine::request::Speaker;
use serde_json::{Value, json};
use simulation::scripted::{Reply, Scripted, Wire};
use std::sync::{Arc, Mutex};

async fn sent_request(kind: ProviderKind, setup: Setup, role: Role) -> simulation::scripted::Request {
    let server = Scripted::start().await;
    let seen = Arc::new(Mutex::new(None));
    let keep = seen.clone();
    server.answer(role.name(), move |request| {
        *keep.lock().unwrap() = Some(request.clone());
        Reply::json(json!({"ok": true}))
    });
    let client = TestClient::with(kind, &server.url(), setup);
    client.ask_as(role, "i3.x0.r2:4", None).await.expect("an answer");
    seen.lock().unwrap().take().expect("a request")
}

#[tokio::test]
async fn e3_every_role_is_named_in_header_and_body() {
    for kind in WIRE_FORMATS {
        for role in Role::ALL {
            let request = sent_request(kind, Setup::default(), role).await;
            assert_eq!(request.headers["x-pleach-role"], role.name());
            assert_eq!(request.named_role(), Some(role.name()), "{kind:?}");
            assert_eq!(request.key, "i3.x0.r2:4");
            assert_eq!(request.body["max_tokens"], 500);
            assert_eq!(request.body["stream"], true);
        }
    }
}

#[tokio::test]
async fn e3_openai_gets_the_schema_and_asks_for_usage() {
    let request = sent_request(ProviderKind::Openai, Setup::default(), Role::HomeworkPlanner).await;
    assert_eq!(request.wire, Wire::Openai);
    assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
    let format = &request.body["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["strict"], false, "a planner's tool arguments are open objects");
    assert_eq!(format["json_schema"]["schema"], engine::prompts::schema(Role::HomeworkPlanner).value);
    assert_eq!(request.body["stream_options"]["include_usage"], true);
    assert_eq!(request.body["messages"][0], json!({"role": "system", "content": "You plan."}));
}

#[tokio::test]
async fn e3_anthropic_is_made_to_call_the_roles_tool() {
    let request = sent_request(ProviderKind::Anthropic, Setup::default(), Role::HomeworkRepair).await;
    assert_eq!(request.wire, Wire::Anthropic);
    assert_eq!(request.headers["x-api-key"], KEY);
    assert_eq!(request.headers["anthropic-version"], "2023-06-01");
    assert_eq!(request.body["tool_choice"], json!({"type": "tool", "name": "homework_repair"}));
    assert_eq!(request.body["tools"][0]["input_schema"], engine::prompts::schema(Role::HomeworkRepair).value);
    assert_eq!(request.body["system"], "You plan.");
    let roles: Vec<&Value> =
        request.body["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user"]);
}

#[tokio::test]
async fn e3_a_keyless_server_is_sent_no_credentials_and_costs_nothing() {
    for kind in WIRE_FORMATS {
        let request = sent_request(kind, Setup { key: None, ..Setup::default() }, Role::HomeworkPlanner).await;
        assert!(!request.headers.contains_key("authorization") && !request.headers.contains_key("x-api-key"));
        let client = TestClient::with(kind, "http://127.0.0.1:9/v1", Setup { key: None, ..Setup::default() });
        assert_eq!(client.gateway.spec(kind.name(), "gpt-4o").unwrap().price, Some(engine::model::Price::FREE));
    }
}

/// A repair shows the model its invalid answer as an assistant message.
#[tokio::test]
async fn p7_a_repair_keeps_the_conversation_in_order() {
    for kind in WIRE_FORMATS {
        let server = Scripted::start().await;
        server.on("homework_planner", vec![Reply::json(json!({}))]);
        let messages =
            [(Speaker::System, "s"), (Speaker::User, "q"), (Speaker::Assistant, "bad"), (Speaker::User, "errors")];
        let messages = messages.map(|(speaker, text)| (speaker, text.to_owned())).to_vec();
        TestClient::at(kind, &server.url()).say(Role::HomeworkPlanner, messages, "i1.plan.fix:1", None).await.unwrap();
        let body = &server.ledger()[0].body;
        let said: Vec<&str> =
            body["messages"].as_array().unwrap().iter().filter_map(|message| message["content"].as_str()).collect();
        assert!(said.ends_with(&["q", "bad", "errors"]), "{said:?}");
    }
}
