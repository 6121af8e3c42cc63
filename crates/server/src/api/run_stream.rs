//! The log of one run as a stream. A reader that is caught up leaves the writing to the run's fan-out.

use super::AppState;
use super::caller::Caller;
use super::fanout::Fanout;
use super::heartbeat::{Heartbeat, HeartbeatEvent};
use super::stream::{BEAT, EventStream, FrameQueue, RETRY_MS, aside};
use super::tail::{Tail, TailItem};
use crate::connections::RawStream;
use axum::body::Bytes;
use engine::ids::RunId;
use engine::run::Status;
use engine::workspace::Scope;
use futures::future::BoxFuture;
use runtime::ports::{Library, StoreError};
use serde::Deserialize;
use std::sync::Arc;

/// The most bytes of one frame.
const PIECE: usize = 64 << 10;

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Until {
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

pub(super) struct RunStream {
    /// The first field: it must be dropped before the tail, which keeps the run's channel open.
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
        let fanout = self.fanout.clone().filter(|_| self.tail.is_caught_up() && self.tail.is_visible())?;
        Some(Box::pin(self.join(fanout, connection)))
    }
}

impl RunStream {
    pub(super) fn open(
        app: Arc<AppState>,
        caller: &Caller,
        run: RunId,
        after: u64,
        until: Option<Until>,
        over_network: bool,
    ) -> RunStream {
        let tail = Tail::new(&app, caller, run, after);
        // Who waits for an end is sent something else than the others.
        let is_shared = over_network && until.is_none();
        RunStream {
            fanout: is_shared.then(|| app.fanouts.of(&app.live, run)),
            tail,
            heartbeat: Heartbeat::of(&app.revoked, caller),
            app,
            until,
            queue: FrameQueue::new(format!("retry: {RETRY_MS}\n\n")),
        }
    }

    /// Lets the fan-out write until this stream has to go on by itself.
    async fn join(&mut self, fanout: Arc<Fanout>, connection: &RawStream) -> Bytes {
        let Some(membership) = fanout.join(&self.app.live, connection, self.tail.after) else { return Bytes::new() };
        self.tail.pause();
        loop {
            tokio::select! {
                biased;
                beat = self.heartbeat.next() => match beat {
                    HeartbeatEvent::Send => membership.send(&BEAT),
                    HeartbeatEvent::Recheck if self.tail.is_visible() => {}
                    beat => {
                        self.queue.beat(beat);
                        break;
                    }
                },
                () = membership.returned() => break,
            }
        }
        let (after, unsent) = membership.leave();
        self.tail.resume(after);
        if !unsent.is_empty() && !self.queue.ended {
            self.queue.push(self.behind());
        }
        unsent
    }

    /// Nothing to send, but an occasion for the fan-out to take over.
    fn nothing(&self) -> Option<Bytes> {
        self.fanout.is_some().then(Bytes::new)
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
                self.nothing()
            }
            TailItem::Gone => {
                self.queue.ended = true;
                Some(aside("gone", "{}"))
            }
            // The fan-out may send the same one.
            TailItem::Delta(_) if self.fanout.is_some() => self.nothing(),
            TailItem::Delta(json) | TailItem::Written(json) => Some(aside("delta", json)),
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

/// Splits the text of a commit, so that tens of thousands of events are not copied whole with every write. Pieces end with
/// an event where possible, so that a client can use each one as it arrives.
fn pieces(mut text: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let most = text.len().min(PIECE);
        let end = text[..most].windows(2).rposition(|two| two == b"\n\n").map_or(most, |at| at + 2);
        (end > 0).then(|| text.split_to(end))
    })
}
