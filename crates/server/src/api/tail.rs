//! A run's log from some seq on, without a gap: what is stored is read, what is committed from then on is heard, and
//! whoever falls behind reads again. The one reader under every stream, whatever it is sent as.

use super::House;
use engine::ids::RunId;
use runtime::live::{Commit, Listener};
use runtime::ports::{Store, StoreError};
use std::sync::Arc;
use tokio::sync::broadcast::error::RecvError;

const PAGE: usize = 500;

pub struct Tail {
    store: Arc<dyn Store>,
    listener: Listener,
    pub run: RunId,
    /// Everything up to here was handed out.
    pub after: u64,
    reading: bool,
}

pub enum Heard {
    /// Events of this commit after this seq.
    Events(Arc<Commit>, u64),
    /// Nothing more is stored; what follows is live.
    CaughtUp,
    /// An answer that grows, as JSON.
    Delta(Arc<str>),
    /// The reader was too slow to be told: what follows is read from the log again.
    Behind,
}

impl Tail {
    /// Listens from this moment, so that nothing falls between reading and hearing.
    pub fn new(house: &House, run: RunId, after: u64) -> Tail {
        Tail { store: house.store.clone(), listener: house.live.listen(run), run, after, reading: true }
    }

    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Heard, StoreError> {
        loop {
            if self.reading {
                return self.read().await;
            }
            tokio::select! {
                biased;
                commit = self.listener.commits.recv() => {
                    if let Some(heard) = self.hear(commit) {
                        return Ok(heard);
                    }
                }
                delta = self.listener.deltas.recv() => {
                    if let Ok(json) = delta {
                        return Ok(Heard::Delta(json));
                    }
                }
            }
        }
    }

    async fn read(&mut self) -> Result<Heard, StoreError> {
        let page = self.store.events(self.run, self.after, PAGE).await?;
        self.reading = page.len() == PAGE;
        let Some(last) = page.last().map(|event| event.seq) else { return Ok(Heard::CaughtUp) };
        let after = std::mem::replace(&mut self.after, last);
        Ok(Heard::Events(Arc::new(Commit::of_stored(self.run, &page)), after))
    }

    fn hear(&mut self, commit: Result<Arc<Commit>, RecvError>) -> Option<Heard> {
        let Ok(commit) = commit else {
            self.reading = true;
            return Some(Heard::Behind);
        };
        if commit.first > self.after + 1 {
            // Told out of order, or by somebody else: the log has what is missing.
            self.reading = true;
            return None;
        }
        if commit.last <= self.after {
            return None;
        }
        let after = std::mem::replace(&mut self.after, commit.last);
        Some(Heard::Events(commit, after))
    }
}
