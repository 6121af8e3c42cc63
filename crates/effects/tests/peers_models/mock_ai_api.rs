//! mock-ai-api: the suffix of the model selects the fault.

use crate::harness::{Setup, TestClient, fails};
use crate::peer::{Peer, directory, free_port};
use effects::model::ProviderKind;
use engine::effect::{CallError, CallFailure, ModelReply};
use std::process::Command;

struct MockAiApi {
    openai: (Peer, u16),
    anthropic: (Peer, u16),
}

impl MockAiApi {
    /// Starts its two servers separately: its own command puts them into sessions that outlive it.
    fn start() -> MockAiApi {
        MockAiApi { openai: serve("app.openai_app:app"), anthropic: serve("app.anthropic_app:app") }
    }

    async fn openai(&self, model: &'static str) -> Result<ModelReply, CallError> {
        ask(ProviderKind::Openai, self.openai.1, Setup { model, ..Setup::default() }).await
    }

    async fn anthropic(&self, model: &'static str) -> Result<ModelReply, CallError> {
        ask(ProviderKind::Anthropic, self.anthropic.1, Setup { model, ..Setup::default() }).await
    }

    /// Some of its faults exist without streaming only.
    async fn openai_plain(&self, model: &'static str) -> Result<ModelReply, CallError> {
        ask(ProviderKind::Openai, self.openai.1, Setup { model, stream: Some(false), ..Setup::default() }).await
    }
}

fn serve(app: &str) -> (Peer, u16) {
    let port = free_port();
    let mut command = Command::new(directory().join("mock-ai-api/bin/python3"));
    command.args(["-m", "uvicorn", app, "--host", "127.0.0.1", "--port", &port.to_string()]);
    (Peer::start(command, &[port]), port)
}

async fn ask(kind: ProviderKind, port: u16, setup: Setup) -> Result<ModelReply, CallError> {
    TestClient::with(kind, &format!("http://127.0.0.1:{port}"), setup).ask().await
}

#[tokio::test]
async fn peers_e3_mock_ai_api_answers_and_its_faults_are_classified() {
    let peer = MockAiApi::start();
    answers(&peer).await;
    tool_calls(&peer).await;
    refusals(&peer).await;
    interrupted(&peer).await;
}

async fn answers(peer: &MockAiApi) {
    for reply in [
        peer.openai("gpt-4.1:mock-text").await,
        peer.openai("gpt-4.1:mock-delay").await,
        peer.anthropic("claude-sonnet-4-5:mock-text").await,
        peer.anthropic("claude-sonnet-4-5:mock-anthropic-stream").await,
        peer.anthropic("claude-sonnet-4-5:mock-delay").await,
    ] {
        let reply = reply.unwrap();
        assert!(!reply.text.is_empty() && !reply.truncated && reply.usage.output > 0, "{reply:?}");
    }
}

/// A tool call instead of an answer is passed on; the run validates it (P7).
async fn tool_calls(peer: &MockAiApi) {
    for reply in [
        peer.openai_plain("gpt-4.1:mock-tool-call").await,
        peer.openai("gpt-4.1:mock-tool-stream").await,
        peer.anthropic("claude-sonnet-4-5:mock-tool-use").await,
        peer.anthropic("claude-sonnet-4-5:mock-tool-stream").await,
    ] {
        let text = reply.unwrap().text;
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|value| value.is_object()), "{text}");
    }
    let text = peer.openai_plain("gpt-4.1:mock-bad-tool-json").await.unwrap().text;
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_err(), "{text}");
}

async fn refusals(peer: &MockAiApi) {
    use CallFailure::*;
    for (openai, anthropic, failure) in [
        ("gpt-4.1:mock-400", "claude-sonnet-4-5:mock-400", Rejected),
        ("gpt-4.1:mock-401", "claude-sonnet-4-5:mock-401", Auth),
        ("gpt-4.1:mock-429", "claude-sonnet-4-5:mock-429", RateLimited),
        ("gpt-4.1:mock-500", "claude-sonnet-4-5:mock-500", Unreachable),
        ("gpt-4.1:mock-503", "claude-sonnet-4-5:mock-503", Unreachable),
    ] {
        fails(peer.openai(openai).await, failure);
        fails(peer.anthropic(anthropic).await, failure);
    }
}

async fn interrupted(peer: &MockAiApi) {
    let error = fails(peer.anthropic("claude-sonnet-4-5:mock-stream-error").await, CallFailure::Interrupted);
    assert!(error.maybe_paid, "{error:?}");
}
