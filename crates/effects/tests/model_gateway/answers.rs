//! Successful answers in every form.

use crate::harness::{Setup, TestClient, WIRE_FORMATS};
use effects::model::{Gateway, ModelTerms, ProviderKind, Providers, Timeouts};
use effects::performer::ModelPort;
use effects::rehearsal::RehearsalModels;
use engine::effect::{ModelCall, Usage};
use engine::model::{Price, Role};
use engine::request::{Request, Speaker};
use serde_json::json;
use simulation::scripted::{Reply, Scripted};
use std::sync::{Arc, Mutex};

fn plan() -> serde_json::Value {
    json!({"progress_summary": "Grüße, 世界 🌳", "plan": {"steps": []}, "exit_signal": false})
}

#[tokio::test]
async fn e3_a_streamed_answer_arrives_whole_with_its_usage() {
    for kind in WIRE_FORMATS {
        let server = Scripted::start().await;
        server.on("homework_planner", vec![Reply { chunk_bytes: Some(3), ..Reply::json(plan()).tokens(100, 40, 7) }]);
        let reply = TestClient::at(kind, &server.url()).ask().await.unwrap();
        assert_eq!(reply.text, plan().to_string());
        assert_eq!(reply.usage, Usage { input: 100, cached: 40, output: 7, estimated: false });
        assert!(!reply.truncated && reply.provider_request_id.is_some());
        assert!(server.ledger()[0].delivered);
    }
}

#[tokio::test]
async fn e3_an_answer_without_streaming_arrives_whole_with_its_usage() {
    for kind in WIRE_FORMATS {
        let server = Scripted::start().await;
        server.on(
            "homework_planner",
            vec![Reply::json(plan()).never_stream().tokens(100, 40, 7).header("x-request-id", "req-1")],
        );
        let reply = TestClient::at(kind, &server.url()).ask().await.unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&reply.text).unwrap(), plan());
        assert_eq!(reply.usage, Usage { input: 100, cached: 40, output: 7, estimated: false });
        assert_eq!(reply.provider_request_id.as_deref(), Some("req-1"));
    }
}

#[tokio::test]
async fn invariant_41_an_answer_cut_at_its_limit_says_so() {
    for (kind, reason) in [
        (ProviderKind::Openai, "length"),
        (ProviderKind::Anthropic, "max_tokens"),
        (ProviderKind::Anthropic, "model_context_window_exceeded"),
    ] {
        let server = Scripted::start().await;
        server.on(
            "homework_planner",
            vec![Reply::text("{\"a\":").finish(reason), Reply::text("{\"a\":").finish(reason).never_stream()],
        );
        let client = TestClient::at(kind, &server.url());
        assert!(client.ask().await.unwrap().truncated);
        assert!(client.ask().await.unwrap().truncated);
    }
}

#[tokio::test]
async fn missing_or_implausible_usage_is_estimated_and_never_zero() {
    for kind in WIRE_FORMATS {
        let zero = json!({"prompt_tokens": 0, "completion_tokens": 0, "input_tokens": 0, "output_tokens": 0});
        let wild = json!({"prompt_tokens": -1, "completion_tokens": 5_000_000_000u64, "input_tokens": -1, "output_tokens": 5_000_000_000u64});
        let server = Scripted::start().await;
        server.on(
            "homework_planner",
            vec![
                Reply { no_usage: true, ..Reply::json(plan()) },
                Reply { raw_usage: Some(zero), ..Reply::json(plan()) },
                Reply { raw_usage: Some(wild), ..Reply::json(plan()) },
            ],
        );
        let client = TestClient::at(kind, &server.url());
        for _ in 0..3 {
            let usage = client.ask().await.unwrap().usage;
            assert!(
                usage.estimated && usage.input > 10 && usage.output >= plan().to_string().len() as u64 / 4,
                "{usage:?}"
            );
        }
    }
}

#[tokio::test]
async fn deltas_are_sent_while_the_answer_is_written() {
    for kind in WIRE_FORMATS {
        let server = Scripted::start().await;
        server.on("homework_planner", vec![Reply::json(plan())]);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let tell = |delta: &str| seen.lock().unwrap().push(delta.to_owned());
        let client = TestClient::at(kind, &server.url());
        let reply = client.ask_as(Role::HomeworkPlanner, "k:1", Some(&tell)).await.unwrap();
        let seen = seen.lock().unwrap();
        assert!(seen.len() > 1, "{seen:?}");
        assert_eq!(seen.concat(), reply.text);
    }
}

#[tokio::test]
async fn e3_rehearsal_answers_without_a_server() {
    let rehearsal = RehearsalModels::default();
    let gateway = Gateway::new(&Providers::default(), &|_| None, rehearsal, Timeouts::default()).unwrap();
    let model = gateway.spec("rehearsal", "default").unwrap();
    assert_eq!(model.price, Some(Price::FREE));
    let call = ModelCall {
        role: Role::HomeworkReport,
        model,
        request: Request::default(),
        schema: engine::prompts::schema(Role::HomeworkReport),
        max_tokens: 3_000,
    };
    let reply = gateway.call(&call, vec![(Speaker::User, "hi".into())], "k:1", None).await.unwrap();
    assert!(reply.text.contains("\"not_done\""), "{}", reply.text);
    assert!(reply.usage.input > 0 && reply.usage.output > 0);
}

#[tokio::test]
async fn configured_terms_win_over_the_table() {
    let terms = ModelTerms {
        context_window: Some(9_000),
        input_per_mtok: Some(1.5),
        output_per_mtok: Some(2.0),
        ..ModelTerms::default()
    };
    let client =
        TestClient::with(ProviderKind::Openai, "http://127.0.0.1:9", Setup { terms: Some(terms), ..Setup::default() });
    let spec = client.gateway.spec("openai", "scripted").unwrap();
    assert_eq!((spec.context_window, spec.max_output), (9_000, 8_192));
    assert_eq!(spec.price, Some(Price { input: 1_500_000, cached: 1_500_000, output: 2_000_000 }));
    assert_eq!(client.gateway.spec("openai", "unheard-of").unwrap().price, None);
}
