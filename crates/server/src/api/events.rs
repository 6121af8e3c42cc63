//! The log, as pages and as a stream. The log itself is the source of both, so a slow reader loses nothing;
//! the broadcast only says when to look again.

use super::caller::{Asked, Caller, Id};
use super::route::Access::Read;
use super::route::Route;
use super::shape::{self, count, one_of, text, whole};
use super::{Answer, House, records};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use axum::response::sse::{Event as Sse, KeepAlive};
use engine::batch::RunRow;
use engine::event::StoredEvent;
use engine::ids::RunId;
use engine::run::Status;
use engine::workspace::Scope;
use futures::{StreamExt, stream};
use runtime::ports::StoreError;
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;

const PAGE: usize = 256;
const MAX_PAGE: usize = 1_000;
/// Looking again without a hint: another process may be the one that writes.
const POLL: Duration = Duration::from_millis(100);

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/runs/{id}/events", Read, "A page of the log", page)
            .asks("after", count())
            .asks("limit", whole(1, MAX_PAGE as i64))
            .gives(200, shape::page(records::event())),
        Route::get("/api/runs/{id}/stream", Read, "The log as server-sent events", stream)
            .asks("after", count())
            .asks("until", one_of(["settled", "ended"]))
            .header("Last-Event-ID", text())
            .gives_text(200, "text/event-stream"),
    ]
}

#[derive(Deserialize)]
struct PageQuery {
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
}

async fn page(
    State(house): State<Arc<House>>,
    caller: Caller,
    Id(id): Id<RunId>,
    Asked(query): Asked<PageQuery>,
) -> Answer<impl IntoResponse> {
    caller.run(&house, id).await?;
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let events = house.store.events(id, query.after, limit).await?;
    let next = if events.len() == limit { events.last().map(|event| event.seq) } else { None };
    let items: Vec<String> = events.into_iter().map(public).collect();
    let next = next.map_or_else(|| "null".to_owned(), |seq| format!("\"{seq}\""));
    let body = format!("{{\"items\":[{}],\"next_cursor\":{next}}}", items.join(","));
    Ok(([(header::CONTENT_TYPE, "application/json")], body))
}

fn public(event: StoredEvent) -> String {
    event.decode().to_json()
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

async fn stream(
    State(house): State<Arc<House>>,
    caller: Caller,
    Id(id): Id<RunId>,
    Asked(query): Asked<StreamQuery>,
    headers: HeaderMap,
) -> Answer<impl IntoResponse> {
    caller.run(&house, id).await?;
    let last_seen = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let tail = Tail {
        hints: house.desk.as_ref().map(|desk| desk.live().subscribe()),
        house,
        run: id,
        after: query.after.or(last_seen).unwrap_or(0),
        until: query.until,
        ready: VecDeque::new(),
        ended: false,
    };
    let events = stream::unfold(tail, |mut tail| async move { Some((Ok::<_, Infallible>(tail.next().await?), tail)) });
    let events = events.take_until(caller.revoked());
    Ok(axum::response::Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(10))))
}

struct Tail<T> {
    house: Arc<House>,
    hints: Option<Receiver<T>>,
    run: RunId,
    after: u64,
    until: Option<Until>,
    ready: VecDeque<StoredEvent>,
    ended: bool,
}

impl<T: Clone> Tail<T> {
    /// `None` ends the stream; the reader comes back with the last id it saw.
    async fn next(&mut self) -> Option<Sse> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Sse::default().id(event.seq.to_string()).data(public(event)));
            }
            if self.ended {
                return None;
            }
            match self.look().await {
                Ok(Some(settled)) => {
                    self.ended = true;
                    return Sse::default().event("settled").json_data(settled).ok();
                }
                Ok(None) if self.ready.is_empty() => self.wait().await,
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(run = %self.run, %error, "a stream ended: the log could not be read");
                    return None;
                }
            }
        }
    }

    /// Fetch what is new; the run itself when there is nothing and it has settled.
    async fn look(&mut self) -> Result<Option<RunRow>, StoreError> {
        self.ready.extend(self.house.store.events(self.run, self.after, PAGE).await?);
        if let Some(last) = self.ready.back() {
            self.after = last.seq;
            return Ok(None);
        }
        let Some(until) = self.until else { return Ok(None) };
        let row = self.house.store.run(&Scope::Platform, self.run).await?;
        Ok(row.filter(|row| until.reached(row.status) && row.last_seq <= self.after))
    }

    async fn wait(&mut self) {
        let poll = tokio::time::sleep(POLL);
        match &mut self.hints {
            Some(hints) => {
                tokio::select! {
                    _ = hints.recv() => {}
                    () = poll => {}
                }
            }
            None => poll.await,
        }
    }
}
