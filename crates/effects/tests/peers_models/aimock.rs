//! aimock: both wire formats, answers by fixture, and a journal of every request.

use crate::harness::{Setup, TestClient, WIRE_FORMATS, fails};
use crate::peer::{Peer, directory, free_port};
use effects::model::ProviderKind;
use engine::effect::{CallError, CallFailure, ModelReply};
use engine::model::Role;
use engine::request::Speaker;
use serde_json::{Value, json};
use std::process::Command;

struct Aimock {
    _peer: Peer,
    url: String,
    _fixtures: tempfile::NamedTempFile,
}

impl Aimock {
    fn start(fixtures: Value, options: &[&str]) -> Aimock {
        let file = tempfile::Builder::new().suffix(".json").tempfile().expect("a temporary file");
        std::fs::write(file.path(), json!({"fixtures": fixtures}).to_string()).expect("the fixtures");
        let port = free_port();
        let mut command = Command::new("node");
        command.arg(directory().join("aimock/node_modules/.bin/llmock"));
        command
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "--log-level", "silent", "-f"])
            .arg(file.path())
            .args(options);
        Aimock { _peer: Peer::start(command, &[port]), url: format!("http://127.0.0.1:{port}"), _fixtures: file }
    }

    /// The requests that it recorded.
    async fn journal(&self) -> Vec<Value> {
        let entries = reqwest::get(format!("{}/__aimock/journal", self.url)).await.expect("the journal");
        entries.json().await.expect("a journal in JSON")
    }
}

fn greeting() -> Value {
    json!([{"match": {"userMessage": "hello"}, "response": {"content": "{\"progress_summary\":\"Grüße 🌳\"}",
        "usage": {"prompt_tokens": 31, "completion_tokens": 9, "input_tokens": 31, "output_tokens": 9}}}])
}

async fn say(client: &TestClient, text: &str, key: &str) -> Result<ModelReply, CallError> {
    let messages =
        vec![(Speaker::System, "You plan.".to_owned()), (Speaker::User, format!("## objective\n{}\n", json!(text)))];
    client.say(Role::HomeworkPlanner, messages, key, None).await
}

#[tokio::test]
async fn peers_e3_aimock_answers_on_both_wires_and_its_journal_shows_what_was_sent() {
    let aimock = Aimock::start(greeting(), &[]);
    for kind in WIRE_FORMATS {
        let reply = say(&TestClient::at(kind, &aimock.url), "hello", "i1.plan:1").await.unwrap();
        assert_eq!(reply.text, "{\"progress_summary\":\"Grüße 🌳\"}");
        assert_eq!((reply.usage.input, reply.usage.output, reply.usage.estimated), (31, 9, false));
        assert!(reply.provider_request_id.is_some());
    }
    let journal = aimock.journal().await;
    let paths: Vec<&str> = journal.iter().filter_map(|entry| entry["path"].as_str()).collect();
    assert_eq!(paths, ["/v1/chat/completions", "/v1/messages"], "each call is one request");
    for entry in &journal {
        assert_eq!(entry["headers"]["x-pleach-role"], "homework_planner");
        assert_eq!(entry["headers"]["idempotency-key"], "i1.plan:1");
    }
    assert_eq!(journal[0]["body"]["response_format"]["json_schema"]["name"], "homework_planner");
}

#[tokio::test]
async fn peers_e3_aimock_keyless_with_and_without_the_version_in_the_address() {
    let aimock = Aimock::start(greeting(), &[]);
    for url in [aimock.url.clone(), format!("{}/v1", aimock.url), format!("{}/v1/", aimock.url)] {
        say(&TestClient::with(ProviderKind::Openai, &url, Setup { key: None, ..Setup::default() }), "hello", "k:1")
            .await
            .unwrap();
    }
    let error = TestClient::at(ProviderKind::Openai, &aimock.url).gateway.only_model("openai").await.unwrap_err();
    assert_eq!(error.0.matches("openai/").count(), 3, "{error}");
}

#[tokio::test]
async fn peers_invariant_40_aimock_rate_limits_once_and_is_asked_again_only_by_the_caller() {
    let fixtures = json!([
        {"match": {"userMessage": "busy", "sequenceIndex": 0}, "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}},
        {"match": {"userMessage": "busy"}, "response": {"content": "{}"}},
    ]);
    let aimock = Aimock::start(fixtures, &[]);
    let client = TestClient::at(ProviderKind::Openai, &aimock.url);
    let error = fails(say(&client, "busy", "i1.plan:1").await, CallFailure::RateLimited);
    assert!(error.retry_after_ms.is_some() && error.message.contains("slow down"), "{error:?}");
    assert_eq!(aimock.journal().await.len(), 1);
    assert_eq!(say(&client, "busy", "i1.plan:2").await.unwrap().text, "{}");
    let statuses: Vec<Value> = aimock.journal().await.iter().map(|entry| entry["response"]["status"].clone()).collect();
    assert_eq!(statuses, [429, 200]);
}

#[tokio::test]
async fn peers_invariant_41_aimock_chaos_is_never_an_answer() {
    for (option, failure) in [
        ("--chaos-disconnect", CallFailure::Interrupted),
        ("--chaos-malformed", CallFailure::Interrupted),
        ("--chaos-drop", CallFailure::Unreachable),
        ("--chaos-ratelimit", CallFailure::RateLimited),
    ] {
        let aimock = Aimock::start(greeting(), &[option, "1"]);
        for kind in WIRE_FORMATS {
            fails(say(&TestClient::at(kind, &aimock.url), "hello", "k:1").await, failure);
        }
    }
}
