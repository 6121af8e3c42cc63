//! The key is sent in one header and never shown, even if a server or model echoes it.

use crate::harness::{KEY, Setup, TestClient, WIRE_FORMATS, fails};
use effects::model::ProviderKind;
use engine::effect::CallFailure;
use serde_json::json;
use simulation::scripted::{Reply, Scripted};
use std::sync::Mutex;

#[tokio::test]
async fn e4_a_key_echoed_by_a_server_is_not_in_errors() {
    let echo = format!("Incorrect key {KEY}; headers: authorization=Bearer {KEY}");
    for kind in WIRE_FORMATS {
        for reply in [
            Reply::status(401, json!({"error": {"message": echo}}).to_string()),
            Reply::status(500, echo.clone()),
            Reply::status(404, echo.clone()),
            Reply { error_midway: Some(echo.clone()), ..Reply::json(json!({"a": 1})) },
            Reply::status(200, echo.clone()),
            Reply::status(400, echo.clone()).header("retry-after", KEY),
        ] {
            let server = Scripted::start().await;
            server.on("homework_planner", vec![reply]);
            let error = TestClient::at(kind, &server.url()).ask().await.unwrap_err();
            assert!(!error.message.contains("sk-canary"), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn invariant_48_a_key_echoed_by_a_model_is_not_in_answers() {
    for kind in WIRE_FORMATS {
        let server = Scripted::start().await;
        let echo = json!({"progress_summary": format!("your key is {KEY}, isn't it")});
        server.on("homework_planner", vec![Reply::json(echo).header("x-request-id", "r")]);
        let seen = Mutex::new(String::new());
        let tell = |delta: &str| seen.lock().unwrap().push_str(delta);
        let client = TestClient::at(kind, &server.url());
        let reply = client.ask_as(engine::model::Role::HomeworkPlanner, "k:1", Some(&tell)).await.unwrap();
        assert_eq!(reply.text, r#"{"progress_summary":"your key is [redacted], isn't it"}"#);
        assert_eq!(*seen.lock().unwrap(), reply.text);
    }
}

#[tokio::test]
async fn e4_a_password_in_the_address_is_not_shown() {
    let server = Scripted::start().await;
    server.on("homework_planner", vec![Reply::status(400, "no")]);
    let url = server.url().replace("http://", "http://ann:pw-secret@");
    let error =
        fails(TestClient::with(ProviderKind::Openai, &url, Setup::default()).ask().await, CallFailure::Rejected);
    assert!(!error.message.contains("pw-secret"), "{}", error.message);
}
