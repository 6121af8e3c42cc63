//! Server-sent events: the log of one run, or several topics in one stream. Most frames are slices of the text that all
//! listeners of a commit share.

use super::caller::{Caller, Id};
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
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use engine::ids::RunId;
use engine::run::Status;
use engine::workspace::Scope;
use futures::stream;
use runtime::ports::{Library, StoreError};
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;

/// A comment: somebody is there.
pub const BEAT: Bytes = Bytes::from_static(b": \n\n");
/// How soon a client comes back. Sent at once, so that the other side knows it is heard.
pub const RETRY_MS: u32 = 2_000;
/// Bytes that are sent at once.
const PIECE: usize = 64 << 10;

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/runs/{id}/stream", Read, "The log as server-sent events", of_run)
            .asks("after", count())
            .asks("until", one_of(["settled", "ended"]))
            .header("Last-Event-ID", text())
            .gives_text(200, "text/event-stream")
            .refuses([422]),
        Route::get("/api/stream", Read, "Several topics as one stream of server-sent events", of_topics)
            .asks("topics", text())
            .header("Last-Event-ID", text())
            .gives_text(200, "text/event-stream")
            .refuses([404]),
    ]
}

#[derive(Deserialize)]
struct StreamQuery {
    after: Option<u64>,
    /// End, with the run object, instead of waiting for more.
    until: Option<Until>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    /// Nobody needs to drive it: it ended, waits or is paused.
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
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<RunId>,
    QueryString(query): QueryString<StreamQuery>,
    headers: HeaderMap,
    line: Option<Extension<RawStream>>,
) -> ApiResult<Response> {
    caller.run(&app, id).await?;
    // What a reconnecting client has seen beats what it asked for when it first came.
    let last_seen = last_event_id(&headers).map(|text| text.parse().map_err(|_| bad_place(text))).transpose()?;
    let after = last_seen.or(query.after).unwrap_or(0);
    let ready = VecDeque::from([format!("retry: {RETRY_MS}\n\n").into()]);
    let (tail, heartbeat) = (Tail::new(&app, &caller, id, after), Heartbeat::of(&app.revoked, &caller));
    Ok(sent(line, Log { tail, heartbeat, app, until: query.until, ready, ended: false }))
}

#[derive(Deserialize)]
struct TopicsQuery {
    topics: Option<String>,
}

async fn of_topics(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    QueryString(query): QueryString<TopicsQuery>,
    headers: HeaderMap,
    line: Option<Extension<RawStream>>,
) -> ApiResult<Response> {
    let topics = multiplex::parse(query.topics.as_deref().unwrap_or_default())
        .map_err(|why| Problem::invalid("bad_topics", why))?;
    let many = Multiplex::open(app, &caller, topics, last_event_id(&headers)).await?;
    Ok(sent(line, many))
}

fn bad_place(text: &str) -> Problem {
    Problem::invalid(
        "bad_cursor",
        format!("Last-Event-ID {text} is no seq of a run; leave it out to read from the first"),
    )
}

fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id").and_then(|value| value.to_str().ok()).filter(|id| !id.is_empty())
}

fn sent(line: Option<Extension<RawStream>>, frames: impl Frames) -> Response {
    let body = match line {
        Some(Extension(line)) => Body::from_stream(line.carry(frames)),
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

/// A frame that has no place in the log, and so no id.
pub fn aside(event: &str, json: impl Display) -> Bytes {
    Bytes::from(format!("event: {event}\ndata: {json}\n\n"))
}

/// What a reader is told of a beat, if anything; and whether that is the last.
pub fn told_of(beat: &HeartbeatEvent) -> (Option<Bytes>, bool) {
    match beat {
        HeartbeatEvent::Quiet => (None, false),
        HeartbeatEvent::Loud => (Some(BEAT), false),
        HeartbeatEvent::Revoked => (Some(aside("revoked", "{}")), true),
    }
}

/// A text as it is sent: in parts, so that a commit of tens of thousands of events is not copied whole again and again.
/// A part ends with an event where that is possible, so that every part can be used as soon as it is there.
fn pieces(mut text: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let most = text.len().min(PIECE);
        let end = text[..most].windows(2).rposition(|two| two == b"\n\n").map_or(most, |at| at + 2);
        (end > 0).then(|| text.split_to(end))
    })
}

struct Log {
    app: Arc<AppState>,
    tail: Tail,
    heartbeat: Heartbeat,
    until: Option<Until>,
    ready: VecDeque<Bytes>,
    ended: bool,
}

impl Frames for Log {
    /// `None` ends the stream; the reader comes back with the last id it saw.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            let heard = tokio::select! {
                biased;
                beat = self.heartbeat.next() => {
                    let (frame, is_last) = told_of(&beat);
                    self.ready.extend(frame);
                    self.ended = is_last;
                    continue;
                }
                heard = self.tail.next() => heard,
            };
            match self.take(heard).await {
                Ok(Some(frame)) => return Some(frame),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(run = %self.tail.run, %error, "a stream ended: the log could not be read");
                    return None;
                }
            }
        }
    }
}

impl Log {
    async fn take(&mut self, heard: Result<TailItem, StoreError>) -> Result<Option<Bytes>, StoreError> {
        Ok(match heard? {
            TailItem::Events(commit, after) => {
                if commit.lifecycle {
                    self.look_for_end().await?;
                }
                let mut pieces = pieces(commit.text_after(after));
                let first = pieces.next();
                self.send_before_end(pieces);
                first
            }
            TailItem::CaughtUp => {
                self.look_for_end().await?;
                None
            }
            TailItem::Gone => {
                self.ended = true;
                Some(aside("gone", "{}"))
            }
            TailItem::Delta(json) => Some(aside("delta", json)),
            TailItem::Behind => Some(aside("behind", format_args!("{{\"after\":{}}}", self.tail.after))),
        })
    }

    /// What is left of a commit goes before what was made ready to follow it.
    fn send_before_end(&mut self, pieces: impl Iterator<Item = Bytes>) {
        let follows = std::mem::take(&mut self.ready);
        self.ready.extend(pieces);
        self.ready.extend(follows);
    }

    /// The run itself, when that is what the reader waits for and all of its log was sent.
    async fn look_for_end(&mut self) -> Result<(), StoreError> {
        let Some(until) = self.until else { return Ok(()) };
        let row = self.app.store.run(&Scope::Platform, self.tail.run).await?;
        let settled = row.filter(|row| until.reached(row.status) && row.last_seq <= self.tail.after);
        if let Some(json) = settled.and_then(|row| serde_json::to_string(&row).ok()) {
            self.ready.push_back(aside("settled", json));
            self.ended = true;
        }
        Ok(())
    }
}
