//! Server-sent events: the log of one run, or several topics in one stream. Most frames are slices of the text that all
//! listeners of a commit share.

use super::ApiResult;
use super::caller::{Context, Id};
use super::heartbeat::HeartbeatEvent;
use super::multiplex::{self, Multiplex};
use super::problems::Problem;
use super::query::QueryString;
use super::route::Access::Read;
use super::route::Route;
use super::run_stream::{RunStream, Until};
use super::schema::{count, one_of, text};
use crate::connections::{Frames, RawStream};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use engine::ids::RunId;
use futures::future::BoxFuture;
use futures::stream;
use runtime::ports::StoreError;
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Display;

/// A comment, which clients ignore: it keeps the connection open.
pub(super) const BEAT: Bytes = Bytes::from_static(b": \n\n");
/// How long a client waits before it reconnects.
pub(super) const RETRY_MS: u32 = 2_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/runs/{id}/stream", Read, "The log as server-sent events", of_run)
            .query("after", count())
            .query("until", one_of(["settled", "ended"]))
            .header("Last-Event-ID", text())
            .returns_text(200, "text/event-stream")
            .errors([422]),
        Route::get("/api/stream", Read, "Several topics as one stream of server-sent events", of_topics)
            .query("topics", text())
            .header("Last-Event-ID", text())
            .returns_text(200, "text/event-stream")
            .errors([404]),
    ]
}

#[derive(Deserialize)]
struct StreamQuery {
    after: Option<u64>,
    /// Ends the stream with the run object once this is reached.
    until: Option<Until>,
}

async fn of_run(
    Context(app, caller): Context,
    Id(id): Id<RunId>,
    QueryString(query): QueryString<StreamQuery>,
    headers: HeaderMap,
    raw: Option<Extension<RawStream>>,
) -> ApiResult<Response> {
    caller.run(&app, id).await?;
    // A reconnecting client repeats its first URL: what it has seen since then counts.
    let last_seen = last_event_id(&headers).map(|text| text.parse().map_err(|_| bad_cursor(text))).transpose()?;
    let after = last_seen.or(query.after).unwrap_or(0);
    let stream = RunStream::open(app, &caller, id, after, query.until, raw.is_some());
    Ok(streamed(raw, stream))
}

#[derive(Deserialize)]
struct TopicsQuery {
    topics: Option<String>,
}

async fn of_topics(
    Context(app, caller): Context,
    QueryString(query): QueryString<TopicsQuery>,
    headers: HeaderMap,
    raw: Option<Extension<RawStream>>,
) -> ApiResult<Response> {
    let topics = multiplex::parse(query.topics.as_deref().unwrap_or_default())
        .map_err(|why| Problem::invalid("bad_topics", why))?;
    let stream = Multiplex::open(app, &caller, topics, last_event_id(&headers)).await?;
    Ok(streamed(raw, stream))
}

fn bad_cursor(text: &str) -> Problem {
    Problem::invalid(
        "bad_cursor",
        format!(
            "Last-Event-ID {text:?} is not the seq of an event; leave the header out to read the log from its start"
        ),
    )
}

fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id").and_then(|value| value.to_str().ok()).filter(|id| !id.is_empty())
}

/// Over the network frames are written past the HTTP layer; over the Unix socket they are an ordinary body.
fn streamed(raw: Option<Extension<RawStream>>, frames: impl Frames) -> Response {
    let body = match raw {
        Some(Extension(raw)) => Body::from_stream(raw.carry(frames)),
        None => Body::from_stream(stream::unfold(frames, async |mut frames| {
            Some((Ok::<_, Infallible>(frames.next().await?), frames))
        })),
    };
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-cache"),
        ("x-accel-buffering", "no"),
    ];
    (headers, body).into_response()
}

/// A frame that is not in the log and so has no id.
pub(super) fn aside(event: &str, json: impl Display) -> Bytes {
    Bytes::from(format!("event: {event}\ndata: {json}\n\n"))
}

/// Frames that wait to be sent, and whether the stream ends after them.
pub(super) struct FrameQueue {
    pub ready: VecDeque<Bytes>,
    pub ended: bool,
}

impl FrameQueue {
    /// The first frame is sent at once, so that the client knows that the stream is open.
    pub(super) fn new(first: String) -> FrameQueue {
        FrameQueue { ready: VecDeque::from([first.into()]), ended: false }
    }

    pub(super) fn push(&mut self, frame: impl Into<Bytes>) {
        self.ready.push_back(frame.into());
    }

    pub(super) fn push_last(&mut self, frame: Bytes) {
        self.push(frame);
        self.ended = true;
    }

    pub(super) fn beat(&mut self, beat: HeartbeatEvent) {
        match beat {
            HeartbeatEvent::Recheck => {}
            HeartbeatEvent::Send => self.push(BEAT),
            HeartbeatEvent::Revoked => self.push_last(aside("revoked", "{}")),
        }
    }
}

/// A stream of server-sent events that queues its frames. When it ends, the client reconnects with the last id it saw.
pub(super) trait EventStream: Send + 'static {
    fn queue(&mut self) -> &mut FrameQueue;

    /// Waits for something to happen; queues the frames for it, or returns one to be sent first.
    fn advance(&mut self) -> impl Future<Output = Result<Option<Bytes>, StoreError>> + Send;

    /// Lets a fan-out write, while it has the same frames for others too.
    fn share<'a>(&'a mut self, connection: &'a RawStream) -> Option<BoxFuture<'a, Bytes>> {
        let _ = connection;
        None
    }
}

impl<S: EventStream> Frames for S {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let queue = self.queue();
            if let Some(frame) = queue.ready.pop_front() {
                return Some(frame);
            }
            if queue.ended {
                return None;
            }
            match self.advance().await {
                Ok(Some(frame)) => return Some(frame),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "closed a stream: the database could not be read; the client can resume it");
                    return None;
                }
            }
        }
    }

    fn share<'a>(&'a mut self, connection: &'a RawStream) -> Option<BoxFuture<'a, Bytes>> {
        let queue = self.queue();
        if queue.ready.is_empty() && !queue.ended { EventStream::share(self, connection) } else { None }
    }
}
