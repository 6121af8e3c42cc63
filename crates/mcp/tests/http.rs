//! MCP servers over HTTP whose answers exceed the limits, as JSON and as events.

use effects::tools::{OfferedTool, Toolbox};
use engine::effect::{EffectId, Outcome, ToolCall};
use mcp::client::{McpServer, ServerConfig};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A server of the older protocol version, and the number of its calls. Each tool is named after the form of its answer.
async fn oversized_server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, counted.clone()));
        }
    });
    (url, calls)
}

async fn serve(stream: TcpStream, calls: Arc<AtomicUsize>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut line, mut length, mut first) = (String::new(), 0, String::new());
        while stream.read_line(&mut line).await? > 2 {
            if first.is_empty() {
                first = line.clone();
            }
            if let Some((_, size)) =
                line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            {
                length = size.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        if first.is_empty() {
            return Ok(());
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (status, kind, body) = match first.starts_with("POST") {
            true => answer(&message, &calls),
            false => ("405 Method Not Allowed", "text/plain", String::new()),
        };
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
    }
}

fn answer(message: &Value, calls: &AtomicUsize) -> (&'static str, &'static str, String) {
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
    let json = |body: String| ("200 OK", "application/json", body);
    let text = |letters: usize| json!({"content": [{"type": "text", "text": "A".repeat(letters)}]});
    let tool = |name: &str| json!({"name": name, "description": "Answers", "inputSchema": {"type": "object"}});
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => json(result(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "oversized_server", "version": "1"},
        }))),
        "tools/list" => {
            let tools = ["small", "json", "events", "deep"].map(tool);
            json(result(json!({ "tools": tools })))
        }
        "tools/call" => {
            calls.fetch_add(1, Ordering::Relaxed);
            match message["params"]["name"].as_str().unwrap_or_default() {
                "json" => json(result(text(17_000_000))),
                "events" => ("200 OK", "text/event-stream", format!("data: {}\n\n", result(text(17_000_000)))),
                "deep" => {
                    let nested = format!("{}{}", "[".repeat(120), "]".repeat(120));
                    json(
                        result(text(1))
                            .replace("\"content\":", &format!("\"structuredContent\":{{\"d\":{nested}}},\"content\":")),
                    )
                }
                _ => json(result(text(3))),
            }
        }
        _ if message["id"].is_null() => ("202 Accepted", "application/json", String::new()),
        method => {
            let error = json!({"code": -32601, "message": format!("there is no {method}")});
            (
                "400 Bad Request",
                "application/json",
                json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string(),
            )
        }
    }
}

async fn called(server: &McpServer, offer: &OfferedTool) -> Result<Value, String> {
    let call = ToolCall {
        tool: offer.name.clone(),
        arguments: json!({}),
        granted: vec![offer.name.clone()],
        home_document: None,
        props: json!({}),
        external: None,
        answered: None,
        agent: None,
    };
    match server.call(offer, &call, &EffectId(offer.name.clone())).await {
        Outcome::Tool(outcome) => outcome.result.map(|output| output.content),
        other => panic!("an outcome: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r8_over_http_a_result_over_the_limit_is_refused_and_the_next_call_is_answered() {
    // Given a server over HTTP
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (url, calls) = oversized_server().await;
    let config = ServerConfig::read("far", json!({"url": url, "timeout_s": 60}), &|_| None).expect("a configuration");
    let server = McpServer::new(config);
    let offers = server.offers().await.expect("its tools").tools;
    let offer = |name: &str| offers.iter().find(|offer| offer.name == format!("far__{name}")).expect("the tool");
    // When its answers are too large, in either form, or too deep
    for (name, says) in
        [("json", "16000000 is the most"), ("events", "16000000 is the most"), ("deep", "deeper than 64")]
    {
        let refused = called(&server, offer(name)).await.expect_err("refused");
        assert!(refused.contains(says), "{name}: {refused}");
        // Then the call is over, and the next one is answered
        assert_eq!(called(&server, offer("small")).await.expect("answered")["text"], "AAA");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 6, "each call was made once");
    server.close().await;
}
