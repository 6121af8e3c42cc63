//! A raw TCP server with one canned response per connection: for responses that no correct HTTP server sends, and for the same
//! response cut at every byte.

use crate::harness::{Setup, TestClient, fails, quick};
use effects::model::{ProviderKind, Timeouts};
use engine::effect::CallFailure;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Raw {
    port: u16,
    task: tokio::task::JoinHandle<()>,
}

impl Raw {
    /// The same bytes for every connection.
    pub(crate) async fn answering(response: &'static [u8]) -> Raw {
        Raw::cutting(response.to_vec(), usize::MAX).await
    }

    /// The nth connection gets the response in two writes, split after n bytes.
    async fn splitting(response: Vec<u8>) -> Raw {
        Raw::serving(move |nth| {
            let (head, tail) = response.split_at(nth.min(response.len()));
            vec![head.to_vec(), tail.to_vec()]
        })
        .await
    }

    /// Only the first `most` bytes, then the connection is closed.
    async fn cutting(response: Vec<u8>, most: usize) -> Raw {
        Raw::serving(move |_| vec![response[..most.min(response.len())].to_vec()]).await
    }

    async fn serving(writes: impl Fn(usize) -> Vec<Vec<u8>> + Send + 'static) -> Raw {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            for nth in 0.. {
                let Ok((mut socket, _)) = listener.accept().await else { break };
                socket.set_nodelay(true).unwrap();
                read_request(&mut socket).await;
                for write in writes(nth) {
                    let _ = socket.write_all(&write).await;
                    let _ = socket.flush().await;
                    tokio::task::yield_now().await;
                }
            }
        });
        Raw { port, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads the whole request: closing a socket with unread data would reset the connection.
async fn read_request(socket: &mut TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let head = request.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok()).unwrap_or(0);
            if request.len() >= head + 4 + length {
                return;
            }
        }
        match socket.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => request.extend_from_slice(&buffer[..read]),
        }
    }
}

fn response(kind: ProviderKind) -> Vec<u8> {
    let body = match kind {
        ProviderKind::Anthropic => concat!(
            "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\r\n\r\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"homework_planner\",\"input\":{}}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"é\\\":\\\"🌳\\\"}\"}}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":2}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        _ => concat!(
            ": hi\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"{\\\"é\\\":\"}}]}\r\n\r\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"🌳\\\"}\"},\"finish_reason\":\"stop\"}]}\n\n",
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
        ),
    };
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn body_start(bytes: &[u8]) -> usize {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4
}

#[tokio::test]
async fn a_response_split_anywhere_gives_the_same_reply() {
    for kind in [ProviderKind::Openai, ProviderKind::Anthropic] {
        let bytes = response(kind);
        let server = Raw::splitting(bytes.clone()).await;
        let client = TestClient::at(kind, &server.url());
        let first = client.ask().await.unwrap();
        assert_eq!((first.text.as_str(), first.usage.input, first.usage.output), ("{\"é\":\"🌳\"}", 5, 2));
        for nth in 1..bytes.len() {
            assert_eq!(client.ask().await.as_ref(), Ok(&first), "split at {nth}");
        }
    }
}

#[tokio::test]
async fn invariant_41_a_reply_cut_anywhere_is_never_an_answer() {
    for kind in [ProviderKind::Openai, ProviderKind::Anthropic] {
        let bytes = response(kind);
        let marker: &[u8] = if kind == ProviderKind::Openai { b"[DONE]" } else { b"message_stop\ndata" };
        let end = bytes.windows(marker.len()).position(|window| window == marker).unwrap();
        for most in (0..end).step_by(7) {
            let server = Raw::cutting(bytes.clone(), most).await;
            let error = fails(TestClient::at(kind, &server.url()).ask().await, CallFailure::Interrupted);
            assert!(
                error.maybe_paid,
                "cut at {most} of {} ({} in the body)",
                bytes.len(),
                most.saturating_sub(body_start(&bytes))
            );
        }
    }
}

#[tokio::test]
async fn a_connection_closed_before_the_answer_may_be_paid() {
    let server = Raw::answering(b"").await;
    assert!(
        fails(TestClient::at(ProviderKind::Openai, &server.url()).ask().await, CallFailure::Interrupted).maybe_paid
    );
}

#[tokio::test]
async fn a_refused_connection_is_unreachable_and_unpaid() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    assert!(!fails(TestClient::at(ProviderKind::Openai, &url).ask().await, CallFailure::Unreachable).maybe_paid);
}

#[tokio::test]
async fn an_https_address_of_a_plain_server_is_unreachable() {
    let server = Raw::answering(b"HTTP/1.1 200 OK\r\n\r\n").await;
    let url = server.url().replace("http:", "https:");
    let client = TestClient::with(
        ProviderKind::Openai,
        &url,
        Setup { timeouts: Timeouts { connect: Duration::from_secs(5), ..quick() }, ..Setup::default() },
    );
    let error = client.ask().await.unwrap_err();
    assert_eq!((error.failure, error.maybe_paid), (CallFailure::Unreachable, false), "{}", error.message);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_unreachable() {
    let client = TestClient::at(ProviderKind::Openai, "http://no-such-host.invalid/v1");
    let error = client.ask().await.unwrap_err();
    assert_eq!((error.failure, error.maybe_paid), (CallFailure::Unreachable, false), "{}", error.message);
    assert!(error.message.contains("no-such-host.invalid"), "{}", error.message);
}
