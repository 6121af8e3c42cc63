//! The faults of real providers, one by one, in both wire formats.

use crate::harness::{Setup, TestClient, WIRE_FORMATS, fails, quick};
use effects::model::{ProviderKind, ProviderTimeouts, Timeouts};
use engine::effect::{CallError, CallFailure};
use serde_json::json;
use simulation::scripted::{Reply, Scripted};
use std::fs::File;
use std::process::Command;
use std::time::{Duration, Instant};

async fn fault(kind: ProviderKind, reply: Reply, failure: CallFailure) -> CallError {
    fault_within(kind, reply, quick(), failure).await
}

async fn fault_within(kind: ProviderKind, reply: Reply, timeouts: Timeouts, failure: CallFailure) -> CallError {
    let server = Scripted::start().await;
    server.on("homework_planner", vec![reply]);
    let client = TestClient::with(kind, &server.url(), Setup { timeouts, ..Setup::default() });
    fails(client.ask().await, failure)
}

fn answer() -> Reply {
    Reply::json(json!({"progress_summary": "x".repeat(200)}))
}

#[tokio::test]
async fn refusals_are_classified_and_quoted() {
    use CallFailure::*;
    for kind in WIRE_FORMATS {
        for (status, body, failure) in [
            (401, r#"{"error":{"message":"bad key"}}"#, Auth),
            (403, r#"{"error":{"message":"no access"}}"#, Auth),
            (402, r#"{"error":{"message":"pay first"}}"#, Quota),
            (429, r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#, Quota),
            (400, r#"{"type":"error","error":{"message":"Your credit balance is too low"}}"#, Quota),
            (429, r#"{"error":{"message":"slow down"}}"#, RateLimited),
            (408, "", Unreachable),
            (500, "<html><body>Internal error</body></html>", Unreachable),
            (502, "", Unreachable),
            (503, r#"{"detail":"loading"}"#, Unreachable),
            (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Unreachable),
            (400, r#"{"error":{"message":"messages: too odd"}}"#, Rejected),
            (413, "", Rejected),
            (307, "", Rejected),
        ] {
            let error = fault(kind, Reply::status(status, body), failure).await;
            assert!(error.message.contains(&status.to_string()), "{}", error.message);
            assert!(error.message.len() < 500, "{}", error.message);
        }
    }
}

#[tokio::test]
async fn invariant_40_retry_after_is_passed_on() {
    let in_an_hour = Reply::status(429, "")
        .header("retry-after", "Sun, 15 Nov 2099 01:00:00 GMT")
        .header("date", "Sun, 15 Nov 2099 00:59:00 GMT");
    let error = fault(ProviderKind::Openai, in_an_hour, CallFailure::RateLimited).await;
    assert_eq!(error.retry_after_ms, Some(60_000));
    let error =
        fault(ProviderKind::Anthropic, Reply::status(529, "").header("retry-after", "3"), CallFailure::Unreachable)
            .await;
    assert_eq!(error.retry_after_ms, Some(3_000));
    assert_eq!(
        fault(ProviderKind::Openai, Reply::status(429, ""), CallFailure::RateLimited).await.retry_after_ms,
        None
    );
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_rejected_with_the_setting_to_change() {
    for body in [
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded","param":"messages"}}"#,
        r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
    ] {
        let server = Scripted::start().await;
        server.on("homework_planner", vec![Reply::status(400, body)]);
        let error = fails(TestClient::at(ProviderKind::Openai, &server.url()).ask().await, CallFailure::Rejected);
        assert!(error.message.contains("context_window") && error.message.contains("scripted"), "{}", error.message);
        assert_eq!(server.ledger().len(), 1, "another schema mode would not help");
    }
}

#[tokio::test]
async fn an_unknown_model_is_rejected_with_a_list_of_models() {
    let server = Scripted::start().await;
    server.on(
        "homework_planner",
        vec![Reply::status(404, r#"{"error":{"message":"model not found","code":"model_not_found"}}"#)],
    );
    let error = fails(TestClient::at(ProviderKind::Openai, &server.url()).ask().await, CallFailure::Rejected);
    assert!(
        error.message.contains("\"scripted\"") && error.message.contains("It offers: scripted"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn invariant_41_streams_that_break_off_are_interrupted() {
    for kind in WIRE_FORMATS {
        for cut in [1, 60, 400] {
            let error = fault(kind, Reply { cut_after: Some(cut), ..answer() }, CallFailure::Interrupted).await;
            assert!(error.maybe_paid);
        }
        fault(kind, Reply { cut_after: Some(50), ..answer().never_stream() }, CallFailure::Interrupted).await;
        fault(kind, Reply { no_terminator: true, ..answer() }, CallFailure::Interrupted).await;
        let broken = || Reply { error_midway: Some("Overloaded".into()), ..answer() };
        let error = fault(kind, broken(), CallFailure::Interrupted).await;
        assert!(error.message.contains("Overloaded"), "{}", error.message);
        fault(kind, broken().never_stream(), CallFailure::Interrupted).await;
    }
}

#[tokio::test]
async fn invariant_41_an_empty_success_is_interrupted() {
    for kind in WIRE_FORMATS {
        fault(kind, Reply::text("").tokens(100, 0, 0), CallFailure::Interrupted).await;
        fault(kind, Reply::text("  \n").tokens(100, 0, 0).never_stream(), CallFailure::Interrupted).await;
        fault(kind, Reply::status(200, ""), CallFailure::Interrupted).await;
        fault(
            kind,
            Reply::status(200, "<html>log in</html>").header("content-type", "text/html"),
            CallFailure::Interrupted,
        )
        .await;
    }
}

#[tokio::test]
async fn events_that_are_no_json_or_too_deep_are_interrupted() {
    let deep = format!("data: {}\n\ndata: [DONE]\n\n", "[".repeat(10_000));
    for body in [
        "data: {\"choices\":[{\"delta\":{\"content\":\"{NaN\n\ndata: [DONE]\n\n".to_owned(),
        "data: {\"x\":NaN}\n\ndata: [DONE]\n\n".to_owned(),
        deep,
    ] {
        fault(ProviderKind::Openai, Reply::raw_stream(body.clone()), CallFailure::Interrupted).await;
        fault(ProviderKind::Anthropic, Reply::raw_stream(body), CallFailure::Interrupted).await;
    }
}

fn impatient() -> Timeouts {
    let ms = Duration::from_millis;
    Timeouts { connect: ms(2_000), first_byte: ms(400), idle: ms(300), total: ms(2_500) }
}

#[tokio::test]
async fn a_silent_server_times_out_before_and_within_the_answer() {
    for kind in WIRE_FORMATS {
        let error = fault_within(kind, answer().delay_ms(5_000), impatient(), CallFailure::Interrupted).await;
        assert!(error.message.contains("0.4 s") && error.maybe_paid, "{}", error.message);
        let error = fault_within(
            kind,
            Reply { stall_after: Some((400, 5_000)), ..answer() },
            impatient(),
            CallFailure::Interrupted,
        )
        .await;
        assert!(error.message.contains("0.3 s") && error.maybe_paid, "{}", error.message);
    }
}

#[tokio::test]
async fn e2_pings_restart_the_timeout_until_the_total_is_over() {
    for kind in WIRE_FORMATS {
        // Given a server that pings for longer than the idle timeout, then answers
        let server = Scripted::start().await;
        server.on("homework_planner", vec![Reply { pings: 40, ..answer() }]);
        let patient = Timeouts { total: Duration::from_secs(20), ..impatient() };
        let client = TestClient::with(kind, &server.url(), Setup { timeouts: patient, ..Setup::default() });
        // Then it answers, and a server that only pings is interrupted after the total timeout
        client.ask().await.expect("an answer");
        let begun = Instant::now();
        let error = fault_within(kind, Reply { pings: 500, ..answer() }, impatient(), CallFailure::Interrupted).await;
        assert!(error.message.contains("2.5 s"), "{}", error.message);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn e2_a_providers_own_timeouts_replace_the_usual_ones() {
    // Given a server that is silent for two seconds, with a default timeout of 0.4 s
    for (own, answers) in [(Some(15), true), (None, false)] {
        let server = Scripted::start().await;
        server.on("homework_planner", vec![answer().delay_ms(2_000)]);
        let timeouts = ProviderTimeouts { first_byte_seconds: own, total_seconds: own, ..Default::default() };
        let client = TestClient::with(
            ProviderKind::Openai,
            &server.url(),
            Setup { timeouts: impatient(), own: timeouts, ..Setup::default() },
        );
        // Then it answers only if its configuration has a longer timeout
        assert_eq!(client.ask().await.is_ok(), answers);
    }
}

#[tokio::test]
async fn e2_an_answer_with_reasoning_only_is_an_answer_with_its_cost() {
    for kind in WIRE_FORMATS {
        // Given an answer without text whose output was counted, cut at the limit or not
        let length = if kind == ProviderKind::Openai { "length" } else { "max_tokens" };
        for reply in [Reply::text("").tokens(50, 0, 60), Reply::text("").tokens(50, 0, 60).finish(length)] {
            let server = Scripted::start().await;
            server.on("homework_planner", vec![reply]);
            // Then it is returned with its usage, for the run to validate
            let reply = TestClient::at(kind, &server.url()).ask().await.expect("an answer");
            assert_eq!((reply.text.as_str(), reply.usage.output), ("", 60));
        }
    }
}

#[tokio::test]
async fn e2_an_error_about_money_inside_an_answer_is_a_quota_failure() {
    let body = r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
    for kind in WIRE_FORMATS {
        let reply = Reply::status(200, body).header("content-type", "application/json");
        let error = fault(kind, reply, CallFailure::Quota).await;
        assert!(!error.maybe_paid, "{}", error.message);
    }
}

#[tokio::test]
async fn sec_s79_an_answer_that_never_ends_is_cut_off() {
    for kind in WIRE_FORMATS {
        let endless = Reply { endless: true, ..Reply::text("x".repeat(1 << 20)) };
        let error = fault(kind, endless, CallFailure::Interrupted).await;
        assert!(error.message.contains("MiB"), "{}", error.message);
        fault(kind, Reply::text("x".repeat(5 << 20)), CallFailure::Interrupted).await;
    }
}

#[tokio::test]
async fn invariant_52_one_endless_line_is_bounded() {
    let line = format!("data: {}", "x".repeat(50 << 20));
    let begun = Instant::now();
    fault(ProviderKind::Openai, Reply::raw_stream(line), CallFailure::Interrupted).await;
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

/// The gateway cannot recognise a repeated piece; the run's validation of the answer does.
#[tokio::test]
async fn p7_repeated_pieces_are_passed_on_and_give_invalid_json() {
    for kind in WIRE_FORMATS {
        let server = Scripted::start().await;
        server.on("homework_planner", vec![Reply { twice: true, ..answer() }]);
        let reply = TestClient::at(kind, &server.url()).ask().await.unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&reply.text).is_err());
    }
}

#[tokio::test]
async fn a_provider_that_is_not_configured_is_named() {
    let client = TestClient::at(ProviderKind::Openai, "http://127.0.0.1:9");
    let error = client.gateway.list_models("acme").await.unwrap_err();
    assert_eq!(error.failure, CallFailure::Rejected);
    assert!(error.message.contains("acme") && error.message.contains("openai"), "{}", error.message);
}

#[tokio::test]
async fn r10_too_many_open_files_are_a_local_failure() {
    // Given a server that would answer, and a process without a free file descriptor
    let server = Scripted::start().await;
    server.on("homework_planner", vec![answer()]);
    let client = TestClient::at(ProviderKind::Openai, &server.url());
    let me = std::process::id().to_string();
    assert!(Command::new("prlimit").args(["--pid", &me, "--nofile=128:"]).status().expect("prlimit runs").success());
    let taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).take(1_000).collect();
    // Then the failure is local, and nothing was paid
    let error = fails(client.ask().await, CallFailure::Local);
    assert!(error.message.contains("too many open files") && !error.maybe_paid, "{}", error.message);
    // And with free descriptors it answers
    drop(taken);
    client.ask().await.expect("an answer");
}
