//! The HTTP server: its routes, and a response body that stalls or breaks as the reply says.

use super::reply::Reply;
use super::request::{Request, Wire};
use super::{Shared, anthropic, openai};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use futures::stream;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::sleep;

pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let openai =
        |state: State<Arc<Shared>>, headers: HeaderMap, body: Bytes| answer(state, Wire::Openai, headers, body);
    let anthropic =
        |state: State<Arc<Shared>>, headers: HeaderMap, body: Bytes| answer(state, Wire::Anthropic, headers, body);
    let app = Router::new()
        .route("/v1/chat/completions", post(openai))
        .route("/v1/messages", post(anthropic))
        .route("/v1/models", get(models))
        .route("/__ledger", get(ledger))
        .layer(DefaultBodyLimit::disable())
        .with_state(shared);
    axum::serve(listener, app).await.expect("the loopback listener");
}

async fn ledger(State(shared): State<Arc<Shared>>) -> Json<Vec<super::Entry>> {
    Json(shared.ledger.entries())
}

async fn models(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let script = shared.script.lock().unwrap_or_else(PoisonError::into_inner);
    let named: Vec<&str> = script.models.iter().map(String::as_str).collect();
    let listed: Vec<Value> = if named.is_empty() { vec!["scripted"] } else { named }
        .into_iter()
        .map(|id| json!({"id": id, "object": "model"}))
        .collect();
    Json(json!({"object": "list", "data": listed}))
}

async fn answer(State(shared): State<Arc<Shared>>, wire: Wire, headers: HeaderMap, body: Bytes) -> Response {
    let headers =
        headers.iter().map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let text = String::from_utf8_lossy(&body).into_owned();
    let Ok(mut request) = Request::new(wire, headers.collect::<BTreeMap<_, _>>(), text) else {
        return (StatusCode::BAD_REQUEST, "the request is not JSON").into_response();
    };
    let at = shared.ledger.enter(&mut request);
    let (script, otherwise, latency) = {
        let script = shared.script.lock().unwrap_or_else(PoisonError::into_inner);
        (script.roles.get(&request.role).cloned(), script.otherwise.clone(), script.latency)
    };
    let unknown = || Reply::status(400, format!("the script has no part for role {:?}", request.role));
    let reply = script.map_or_else(|| otherwise.unwrap_or_else(unknown), |script| script(&request));
    sleep(latency.max(Duration::from_millis(reply.delay_ms))).await;
    let (input, _, output) = reply.figures();
    let status = reply.status.unwrap_or(200);
    shared.ledger.answered(at, status, if status == 200 { (input, output) } else { (0, 0) });
    respond(Sending { shared, at, chunks: VecDeque::new(), sent: 0, reply, broken: false }, &request)
}

fn respond(mut sending: Sending, request: &Request) -> Response {
    let reply = &sending.reply;
    let streamed = request.streaming() && !reply.never_stream && reply.body.is_none();
    let mut response = Response::builder().status(reply.status.unwrap_or(200));
    if !reply.headers.contains_key("content-type") {
        response = response.header("content-type", if streamed { "text/event-stream" } else { "application/json" });
    }
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    sending.chunks = if streamed { events(reply, request) } else { [document(reply, request)].into() };
    if let Some(size) = reply.chunk_bytes {
        let bytes: Vec<u8> = sending.chunks.iter().flat_map(|chunk| chunk.bytes()).collect();
        let chunks = bytes.chunks(size.max(1)).map(Chunk::bytes_of);
        sending.chunks = chunks.collect();
    }
    response.body(Body::from_stream(stream::unfold(sending, Sending::next))).expect("a script's headers are valid")
}

fn document(reply: &Reply, request: &Request) -> Chunk {
    Chunk::text(match (&reply.body, request.wire) {
        (Some(body), _) => body.clone(),
        (None, Wire::Openai) => openai::whole(reply, request).to_string(),
        (None, Wire::Anthropic) => anthropic::whole(reply, request).to_string(),
    })
}

fn events(reply: &Reply, request: &Request) -> VecDeque<Chunk> {
    let ([before, mut during, mut after], ping, error) = match request.wire {
        Wire::Openai => {
            (openai::stream(reply, request), openai::ping(), reply.error_midway.as_deref().map(openai::error_event))
        }
        Wire::Anthropic => (
            anthropic::stream(reply, request),
            anthropic::ping(),
            reply.error_midway.as_deref().map(anthropic::error_event),
        ),
    };
    if let Some(error) = error {
        during.truncate(during.len() / 2);
        after = vec![error];
    }
    if reply.no_terminator || reply.endless {
        after.clear();
    }
    let repeat = if reply.twice { 2 } else { 1 };
    let pieces = during.into_iter().flat_map(|piece| std::iter::repeat_n(piece, repeat));
    let pings = (0..reply.pings).map(|_| Chunk { pause_ms: 20, ..Chunk::text(ping.clone()) });
    before.into_iter().map(Chunk::text).chain(pings).chain(pieces.chain(after).map(Chunk::text)).collect()
}

struct Chunk {
    bytes: Vec<u8>,
    pause_ms: u64,
}

impl Chunk {
    fn text(text: String) -> Chunk {
        Chunk { bytes: text.into_bytes(), pause_ms: 0 }
    }

    fn bytes_of(bytes: &[u8]) -> Chunk {
        Chunk { bytes: bytes.to_vec(), pause_ms: 0 }
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.bytes.iter().copied()
    }
}

/// A response body that is being sent.
struct Sending {
    shared: Arc<Shared>,
    at: usize,
    chunks: VecDeque<Chunk>,
    sent: usize,
    reply: Reply,
    broken: bool,
}

impl Sending {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Sending)> {
        if self.broken {
            return None;
        }
        let Some(mut chunk) = self.chunks.pop_front() else {
            if self.reply.is_whole() {
                self.shared.ledger.delivered(self.at);
            }
            return None;
        };
        sleep_if(chunk.pause_ms).await;
        if let Some((bytes, ms)) = self.reply.stall_after
            && self.sent <= bytes
            && bytes < self.sent + chunk.bytes.len()
        {
            // The bytes before the stall are sent before it.
            let rest = chunk.bytes.split_off(bytes - self.sent);
            self.chunks.push_front(Chunk { bytes: rest, pause_ms: ms });
            self.reply.stall_after = None;
        }
        if let Some(limit) = self.reply.cut_after {
            if self.sent >= limit {
                self.broken = true;
                return Some((Err(io::Error::new(io::ErrorKind::ConnectionReset, "cut by script")), self));
            }
            chunk.bytes.truncate(limit - self.sent);
        }
        if self.reply.endless {
            self.chunks.push_back(Chunk::bytes_of(&chunk.bytes));
        }
        self.sent += chunk.bytes.len();
        Some((Ok(chunk.bytes.into()), self))
    }
}

async fn sleep_if(ms: u64) {
    if ms > 0 {
        sleep(Duration::from_millis(ms)).await;
    }
}
