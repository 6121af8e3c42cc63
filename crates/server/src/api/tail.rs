//! A run's log from some seq on, without a gap: first what is stored, then what is committed live, and the log again for a
//! reader that fell behind. Every stream reads through this, whatever its format; it ends when the run can no longer be seen.

use super::AppState;
use super::caller::Caller;
use super::revocation::RevocationWatch;
use engine::ids::RunId;
use runtime::live::{Commit, Listener, Live, Message, Presence};
use runtime::ports::{Log, StoreError};
use std::sync::Arc;
use store::SqlStore;
use tokio::sync::broadcast::{Receiver, error::RecvError};

const PAGE: usize = 500;

pub(super) struct Tail {
    store: Arc<SqlStore>,
    live: Live,
    /// None while somebody else sends them.
    messages: Option<Receiver<Message>>,
    _presence: Presence,
    /// Ends when the reader can no longer see the run.
    sight: RevocationWatch,
    pub run: RunId,
    /// The seq of the last event that was returned.
    pub after: u64,
    reading: bool,
    /// Received, and not yet returned.
    pending: Option<Arc<Commit>>,
    /// What is being written at the end of the log, not yet returned.
    written: Vec<Arc<str>>,
    gone: bool,
}

pub(super) enum TailItem {
    /// Events of this commit after this seq.
    Events(Arc<Commit>, u64),
    /// Nothing more is stored; what follows is live.
    CaughtUp,
    /// A piece of an answer that a model is writing, as JSON.
    Delta(Arc<str>),
    /// The newest part of an answer that was begun before this reader came, as JSON.
    Written(Arc<str>),
    /// The reader was too slow for the live channel: what follows is read from the log.
    Behind,
    /// The run was removed, or the reader can no longer see it: nothing follows.
    Gone,
}

impl Tail {
    /// Subscribes before the first read, so that nothing falls between log and live channel.
    pub(super) fn new(app: &AppState, reader: &Caller, run: RunId, after: u64) -> Tail {
        let Listener { messages, presence } = app.live.listen(run);
        Tail {
            store: app.store.clone(),
            live: app.live.clone(),
            messages: Some(messages),
            _presence: presence,
            sight: app.sights.watch((reader.scope(), run)),
            run,
            after,
            reading: true,
            pending: None,
            written: Vec::new(),
            gone: false,
        }
    }

    /// Whether everything that is stored and everything that was published has been returned.
    pub(super) fn is_caught_up(&self) -> bool {
        let has_returned_all = !self.reading && self.pending.is_none() && self.written.is_empty();
        has_returned_all && self.messages.as_ref().is_some_and(Receiver::is_empty)
    }

    pub(super) fn is_visible(&self) -> bool {
        !self.sight.is_over()
    }

    /// Leaves what is published to somebody else.
    pub(super) fn pause(&mut self) {
        self.messages = None;
    }

    /// Goes on after this seq. Subscribes before it reads, as at the start.
    pub(super) fn resume(&mut self, after: u64) {
        self.messages = Some(self.live.listen(self.run).messages);
        (self.after, self.reading) = (after, true);
    }

    /// Checks visibility for another reader from now on.
    pub(super) fn set_reader(&mut self, app: &AppState, reader: &Caller) {
        self.sight = app.sights.watch((reader.scope(), self.run));
    }

    /// Cancel-safe. The end of visibility is noticed only at a new call, so the caller must drop this future at every
    /// heartbeat. After `Gone` it is pending forever.
    pub(super) async fn next(&mut self) -> Result<TailItem, StoreError> {
        if self.gone {
            return std::future::pending().await;
        }
        loop {
            if self.sight.is_over() {
                return self.end();
            }
            if self.reading {
                return self.read().await;
            }
            if let Some(json) = self.written.pop() {
                return Ok(TailItem::Written(json));
            }
            if let Some(item) = self.take_pending() {
                return Ok(item);
            }
            if self.reading {
                continue;
            }
            let Some(messages) = &mut self.messages else { return std::future::pending().await };
            match messages.recv().await {
                Ok(Message::Commit(commit)) => self.pending = Some(commit),
                Ok(Message::Delta(json)) => return Ok(TailItem::Delta(json)),
                Err(RecvError::Lagged(_)) => {
                    self.reading = true;
                    return Ok(TailItem::Behind);
                }
                Err(RecvError::Closed) => return self.end(),
            }
        }
    }

    fn end(&mut self) -> Result<TailItem, StoreError> {
        self.gone = true;
        Ok(TailItem::Gone)
    }

    async fn read(&mut self) -> Result<TailItem, StoreError> {
        let page = self.store.events(self.run, self.after, PAGE).await?;
        self.reading = page.len() == PAGE;
        if !self.reading {
            // After the log was read: a call that ended there is no longer among them.
            self.written = self.live.written(self.run);
        }
        let Some(last) = page.last().map(|event| event.seq) else { return Ok(TailItem::CaughtUp) };
        let after = std::mem::replace(&mut self.after, last);
        Ok(TailItem::Events(Arc::new(Commit::of_stored(self.run, &page)), after))
    }

    fn take_pending(&mut self) -> Option<TailItem> {
        let commit = self.pending.take()?;
        if commit.first > self.after + 1 {
            // Out of order, or committed by another process: the log has what is missing.
            self.reading = true;
            return None;
        }
        if commit.last <= self.after {
            return None;
        }
        let after = std::mem::replace(&mut self.after, commit.last);
        Some(TailItem::Events(commit, after))
    }
}
