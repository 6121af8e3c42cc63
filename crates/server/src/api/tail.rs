//! A run's log from some seq on, without a gap: first what is stored, then what is committed live, and the log again for a
//! reader that fell behind. Every stream reads through this, whatever its format; it ends when the run can no longer be seen.

use super::AppState;
use super::caller::Caller;
use super::revocation::RevocationWatch;
use engine::ids::RunId;
use runtime::live::{Commit, Listener, Message};
use runtime::ports::{Log, StoreError};
use std::sync::Arc;
use store::SqlStore;
use tokio::sync::broadcast::error::RecvError;

const PAGE: usize = 500;

pub struct Tail {
    store: Arc<SqlStore>,
    listener: Listener,
    /// When its reader may no longer see the run.
    sight: RevocationWatch,
    pub run: RunId,
    /// Everything up to here was handed out.
    pub after: u64,
    reading: bool,
    /// Heard, and not yet handed out.
    held: Option<Arc<Commit>>,
    over: bool,
}

pub enum TailItem {
    /// Events of this commit after this seq.
    Events(Arc<Commit>, u64),
    /// Nothing more is stored; what follows is live.
    CaughtUp,
    /// An answer that grows, as JSON.
    Delta(Arc<str>),
    /// The reader was too slow to be told: what follows is read from the log again.
    Behind,
    /// The run was removed, or the reader may no longer see it: nothing more comes.
    Gone,
}

impl Tail {
    /// Listens from this moment, so that nothing falls between reading and hearing.
    pub fn new(app: &AppState, reader: &Caller, run: RunId, after: u64) -> Tail {
        Tail {
            store: app.store.clone(),
            listener: app.live.listen(run),
            sight: app.sights.end_of((reader.scope(), run)),
            run,
            after,
            reading: true,
            held: None,
            over: false,
        }
    }

    /// For somebody else's eyes from now on.
    pub fn turn_to(&mut self, app: &AppState, reader: &Caller) {
        self.sight = app.sights.end_of((reader.scope(), self.run));
    }

    /// Dropping the future loses nothing. That the sight of the run has ended is noticed when it is asked anew, which is
    /// what a pulse is for. After `Gone` it never comes to an end.
    pub async fn next(&mut self) -> Result<TailItem, StoreError> {
        if self.over {
            return std::future::pending().await;
        }
        loop {
            if self.sight.is_over() {
                return self.end();
            }
            if self.reading {
                return self.read().await;
            }
            if let Some(heard) = self.hand_out() {
                return Ok(heard);
            }
            if self.reading {
                continue;
            }
            match self.listener.messages.recv().await {
                Ok(Message::Commit(commit)) => self.held = Some(commit),
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
        self.over = true;
        Ok(TailItem::Gone)
    }

    async fn read(&mut self) -> Result<TailItem, StoreError> {
        let page = self.store.events(self.run, self.after, PAGE).await?;
        self.reading = page.len() == PAGE;
        let Some(last) = page.last().map(|event| event.seq) else { return Ok(TailItem::CaughtUp) };
        let after = std::mem::replace(&mut self.after, last);
        Ok(TailItem::Events(Arc::new(Commit::of_stored(self.run, &page)), after))
    }

    fn hand_out(&mut self) -> Option<TailItem> {
        let commit = self.held.take()?;
        if commit.first > self.after + 1 {
            // Told out of order, or by somebody else: the log has what is missing.
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
