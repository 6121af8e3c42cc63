//! Server-sent events: the log of one run, or several topics in one stream. Most frames are slices of the text that all
//! listeners of a commit share.

use super::caller::{Context, Id};
use super::fanout::{Fanout, Join};
use super::heartbeat::{Heartbeat, HeartbeatEvent};
use super::multiplex::{self, Multiplex};
use super::problems::Problem;
use super::query::QueryString;
use super::route::Access::Read;
use super::route::Route;
use super::schema::{count, one_of, text};
use super::tail::{Tail, TailItem};
use super::{ApiResult, AppState};
use crate::connections::{Frames, RawStream};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use engine::ids::RunId;
use engine::run::Status;
use engine::workspace::Scope;
use futures::future::BoxFuture;
use futures::stream;
use runtime::ports::{Library, StoreError};
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;

/// A comment, which clients ignore: it keeps the connection open.
const BEAT: Bytes = Bytes::from_static(b": \n\n");
/// How long a client waits before it reconnects.
pub(super) const RETRY_MS: u32 = 2_000;
/// The most bytes of one frame.
const PIECE: usize = 64 << 10;

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

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    /// Ended, waiting for a person, or paused: nothing happens by itself.
    Settled,
    Ended,
}

impl Until {
    fn reached(self, status: Status) -> bool {
        match self {
            Until::Settled => !status.is_live(),
            Until::Ended => status.is_terminal(),
        }
    }
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
    let queue = FrameQueue::new(format!("retry: {RETRY_MS}\n\n"));
    let (mut tail, heartbeat) = (Tail::new(&app, &caller, id, after), Heartbeat::of(&app.revoked, &caller));
    // Who waits for an end is told something else than the others.
    let shared = raw.is_some() && query.until.is_none();
    let messages = if shared { tail.take_messages() } else { None };
    let fanout = messages.map(|messages| app.fanouts.of(id, messages));
    Ok(streamed(raw, RunStream { fanout, tail, heartbeat, app, until: query.until, queue }))
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
    ready: VecDeque<Bytes>,
    ended: bool,
}

impl FrameQueue {
    /// The first frame is sent at once, so that the client knows that the stream is open.
    pub(super) fn new(first: String) -> FrameQueue {
        FrameQueue { ready: VecDeque::from([first.into()]), ended: false }
    }

    pub(super) fn push(&mut self, frame: impl Into<Bytes>) {
        self.ready.push_back(frame.into());
    }

    fn push_last(&mut self, frame: Bytes) {
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

/// Splits the text of a commit, so that tens of thousands of events are not copied whole with every write. Pieces end with
/// an event where possible, so that a client can use each one as it arrives.
fn pieces(mut text: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let most = text.len().min(PIECE);
        let end = text[..most].windows(2).rposition(|two| two == b"\n\n").map_or(most, |at| at + 2);
        (end > 0).then(|| text.split_to(end))
    })
}

struct RunStream {
    /// The first field: it is dropped before the tail, and with it this reader of the run.
    fanout: Option<Arc<Fanout>>,
    app: Arc<AppState>,
    tail: Tail,
    heartbeat: Heartbeat,
    until: Option<Until>,
    queue: FrameQueue,
}

impl EventStream for RunStream {
    fn queue(&mut self) -> &mut FrameQueue {
        &mut self.queue
    }

    async fn advance(&mut self) -> Result<Option<Bytes>, StoreError> {
        tokio::select! {
            biased;
            beat = self.heartbeat.next() => {
                self.queue.beat(beat);
                Ok(None)
            }
            item = self.tail.next() => self.frame(item?).await,
        }
    }

    fn share<'a>(&'a mut self, connection: &'a RawStream) -> Option<BoxFuture<'a, Bytes>> {
        let fanout = self.fanout.clone().filter(|_| self.tail.is_caught_up())?;
        Some(Box::pin(self.join(fanout, connection)))
    }
}

impl RunStream {
    async fn join(&mut self, fanout: Arc<Fanout>, connection: &RawStream) -> Bytes {
        let membership = match fanout.join(&self.app.live, connection, self.tail.after) {
            Join::Joined(membership) => membership,
            Join::Behind => {
                self.tail.read_after(self.tail.after);
                return Bytes::new();
            }
            Join::Closed => {
                self.queue.push_last(aside("gone", "{}"));
                return Bytes::new();
            }
        };
        loop {
            tokio::select! {
                biased;
                beat = self.heartbeat.next() => match beat {
                    HeartbeatEvent::Send => membership.send(&BEAT),
                    HeartbeatEvent::Recheck if self.tail.is_caught_up() => {}
                    beat => {
                        self.queue.beat(beat);
                        break;
                    }
                },
                () = membership.returned() => break,
            }
        }
        let (after, unsent) = membership.leave();
        self.tail.read_after(after);
        if !unsent.is_empty() && !self.queue.ended {
            self.queue.push(self.behind());
        }
        unsent
    }

    fn behind(&self) -> Bytes {
        aside("behind", format_args!("{{\"after\":{}}}", self.tail.after))
    }

    async fn frame(&mut self, item: TailItem) -> Result<Option<Bytes>, StoreError> {
        Ok(match item {
            TailItem::Events(commit, after) => {
                if commit.lifecycle {
                    self.look_for_end().await?;
                }
                let mut pieces = pieces(commit.text_after(after));
                let first = pieces.next();
                // The rest of a commit goes before the frame that ends the stream.
                let last = std::mem::take(&mut self.queue.ready);
                self.queue.ready.extend(pieces.chain(last));
                first
            }
            TailItem::CaughtUp => {
                self.look_for_end().await?;
                // Nothing to send, but the fan-out can take over.
                self.fanout.as_ref().map(|_| Bytes::new())
            }
            TailItem::Gone => {
                self.queue.ended = true;
                Some(aside("gone", "{}"))
            }
            TailItem::Delta(json) => Some(aside("delta", json)),
            TailItem::Behind => Some(self.behind()),
        })
    }

    /// Ends the stream with the run, once it has reached the state the client waits for and its whole log was sent.
    async fn look_for_end(&mut self) -> Result<(), StoreError> {
        let Some(until) = self.until else { return Ok(()) };
        let row = self.app.store.run(&Scope::Platform, self.tail.run).await?;
        let settled = row.filter(|row| until.reached(row.status) && row.last_seq <= self.tail.after);
        if let Some(json) = settled.and_then(|row| serde_json::to_string(&row).ok()) {
            self.queue.push_last(aside("settled", json));
        }
        Ok(())
    }
}
