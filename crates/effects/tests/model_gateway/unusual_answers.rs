//! Twelve unusual streams of servers that imitate Chat Completions, sent in chunks of three bytes.

use crate::harness::{TestClient, fails};
use effects::model::ProviderKind;
use engine::effect::{CallError, CallFailure, ModelReply};
use simulation::scripted::{Reply, Scripted};

async fn answer(reply: Reply) -> Result<ModelReply, CallError> {
    let server = Scripted::start().await;
    server.on("homework_planner", vec![reply]);
    TestClient::at(ProviderKind::Openai, &server.url()).ask().await
}

async fn stream(lines: &[&str]) -> Result<ModelReply, CallError> {
    let body: String = lines.iter().map(|line| format!("data: {line}\n\n")).collect();
    answer(Reply { chunk_bytes: Some(3), ..Reply::raw_stream(body) }).await
}

fn content(text: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{"content":{text:?}}}}}]}}"#)
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const DONE: &str = "[DONE]";

#[tokio::test]
async fn unusual_answer_01_split_utf_8_and_a_usage_chunk() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}"#;
    let reply = stream(&[&content("{\"ä\":"), &content("\"🌳\"}"), STOP, usage, DONE]).await.unwrap();
    assert_eq!(reply.text, "{\"ä\":\"🌳\"}");
    assert_eq!((reply.usage.input, reply.usage.cached, reply.usage.output), (9, 4, 3));
}

#[tokio::test]
async fn unusual_answer_02_two_interleaved_tool_calls() {
    let call = |index: u8, name: &str, arguments: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"function":{{"name":"{name}","arguments":{arguments:?}}}}}]}}}}]}}"#
        )
    };
    let reply = stream(&[
        &call(0, "other", "{"),
        &call(1, "homework_planner", "{\"a\":"),
        &call(0, "", "}"),
        &call(1, "", "1}"),
        STOP,
        DONE,
    ])
    .await
    .unwrap();
    assert_eq!(reply.text, "{\"a\":1}");
}

#[tokio::test]
async fn unusual_answer_03_a_tool_call_without_index() {
    let reply = stream(&[r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"homework_planner","arguments":"{}"}}]}}]}"#, STOP, DONE]).await.unwrap();
    assert_eq!(reply.text, "{}");
}

#[tokio::test]
async fn unusual_answer_04_an_empty_finish_reason_is_none() {
    let early = r#"{"choices":[{"delta":{"content":"{"},"finish_reason":""}]}"#;
    assert_eq!(stream(&[early, &content("}"), DONE]).await.unwrap().text, "{}");
    fails(stream(&[early]).await, CallFailure::Interrupted);
}

#[tokio::test]
async fn unusual_answer_05_an_error_object_in_the_middle() {
    let error = fails(
        stream(&[&content("{"), r#"{"error":{"message":"upstream died","code":502}}"#, DONE]).await,
        CallFailure::Interrupted,
    );
    assert!(error.message.contains("upstream died") && error.maybe_paid);
}

#[tokio::test]
async fn unusual_answer_06_a_stream_that_just_ends() {
    let error = fails(stream(&[&content("{}")]).await, CallFailure::Interrupted);
    assert!(error.message.contains("terminator") && error.maybe_paid);
}

#[tokio::test]
async fn unusual_answer_07_comments_crlf_and_a_bom() {
    let body = format!(
        "\u{feff}: hello\r\ndata: {}\r\n\r\n: ping\r\n\r\ndata: {STOP}\r\n\r\ndata: [DONE]\r\n\r\n",
        content("{}")
    );
    assert_eq!(answer(Reply { chunk_bytes: Some(3), ..Reply::raw_stream(body) }).await.unwrap().text, "{}");
}

#[tokio::test]
async fn unusual_answer_08_an_unknown_finish_reason() {
    let reply =
        stream(&[&content("{}"), r#"{"choices":[{"delta":{},"finish_reason":"eos_token"}]}"#, DONE]).await.unwrap();
    assert!(!reply.truncated);
}

#[tokio::test]
async fn unusual_answer_09_reasoning_is_not_part_of_the_answer_but_is_counted() {
    let thought = format!(r#"{{"choices":[{{"delta":{{"reasoning_content":"{}"}}}}]}}"#, "hm ".repeat(400));
    let reply = stream(&[&thought, &content("{}"), STOP, DONE]).await.unwrap();
    assert_eq!(reply.text, "{}");
    assert!(reply.usage.estimated && reply.usage.output > 250, "{:?}", reply.usage);
}

#[tokio::test]
async fn unusual_answer_10_null_arguments() {
    let null = r#"{"choices":[{"delta":{"content":null,"tool_calls":[{"index":0,"function":{"name":"homework_planner","arguments":null}}]}}]}"#;
    let rest = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#;
    assert_eq!(stream(&[null, rest, STOP, DONE]).await.unwrap().text, "{}");
}

#[tokio::test]
async fn unusual_answer_11_chunks_with_nothing_but_a_delta() {
    assert_eq!(stream(&[r#"{"choices":[{"delta":{"content":"{}"}}]}"#, DONE]).await.unwrap().text, "{}");
}

#[tokio::test]
async fn unusual_answer_12_a_rate_limit_is_reported_once_with_its_wait() {
    let server = Scripted::start().await;
    server.on("homework_planner", vec![Reply::status(429, "slow").header("retry-after", "7")]);
    let error = fails(TestClient::at(ProviderKind::Openai, &server.url()).ask().await, CallFailure::RateLimited);
    assert_eq!(error.retry_after_ms, Some(7_000));
    assert_eq!(server.ledger().len(), 1, "only the run retries (invariant 40)");
}

#[tokio::test]
async fn a_finish_reason_and_a_clean_close_are_enough_without_done() {
    assert_eq!(stream(&[&content("{}"), STOP]).await.unwrap().text, "{}");
}

#[tokio::test]
async fn a_byte_that_is_not_utf_8_does_not_lose_the_answer() {
    let server = crate::raw::Raw::answering(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\xffb\"}}]}\n\ndata: [DONE]\n\n").await;
    assert_eq!(TestClient::at(ProviderKind::Openai, &server.url()).ask().await.unwrap().text, "a\u{fffd}b");
}
