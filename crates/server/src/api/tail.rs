//! A run's log from some seq on, without a gap: what is stored is read, what is committed from then on is heard, and
//! whoever falls behind reads again. The one reader under every stream, whatever it is sent as.

use super::House;
use super::caller::Caller;
use engine::ids::RunId;
use engine::workspace::Scope;
use runtime::live::{Commit, Listener};
use runtime::ports::{Store, StoreError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

const PAGE: usize = 500;
/// Who left a project learns nothing more of its runs after this.
const CHECK_EVERY: Duration = Duration::from_secs(4);

pub struct Tail {
    store: Arc<dyn Store>,
    sights: Arc<Sights>,
    listener: Listener,
    /// Whose eyes it is for.
    pub reader: Scope,
    checked: Instant,
    pub run: RunId,
    /// Everything up to here was handed out.
    pub after: u64,
    reading: bool,
    /// Heard, and not yet handed out.
    held: Option<Arc<Commit>>,
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
    /// The reader may no longer see this run.
    Barred,
}

impl Tail {
    /// Listens from this moment, so that nothing falls between reading and hearing.
    pub fn new(house: &House, reader: &Caller, run: RunId, after: u64) -> Tail {
        Tail {
            store: house.store.clone(),
            sights: house.sights.clone(),
            listener: house.live.listen(run),
            reader: reader.scope(),
            checked: Instant::now(),
            run,
            after,
            reading: true,
            held: None,
        }
    }

    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Heard, StoreError> {
        loop {
            if self.reading {
                return self.read().await;
            }
            if self.held.is_some() {
                if !self.may_still_read().await? {
                    return Ok(Heard::Barred);
                }
                match self.hand_out() {
                    Some(heard) => return Ok(heard),
                    None => continue,
                }
            }
            tokio::select! {
                biased;
                commit = self.listener.commits.recv() => match commit {
                    Ok(commit) => self.held = Some(commit),
                    Err(RecvError::Lagged(_)) => {
                        self.reading = true;
                        return Ok(Heard::Behind);
                    }
                    Err(RecvError::Closed) => return Err(StoreError::Unavailable("nothing is told here any more".into())),
                },
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

    fn hand_out(&mut self) -> Option<Heard> {
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
        Some(Heard::Events(commit, after))
    }

    /// Asked again now and then, when there is something to hand out.
    async fn may_still_read(&mut self) -> Result<bool, StoreError> {
        if self.checked.elapsed() < CHECK_EVERY {
            return Ok(true);
        }
        let seen = self.sights.sees(self.store.as_ref(), &self.reader, self.run).await?;
        self.checked = Instant::now();
        Ok(seen)
    }
}

/// Who was lately found to see which run: a thousand streams of one person ask once.
#[derive(Default)]
pub struct Sights(Mutex<HashMap<(Scope, RunId), Instant>>);

impl Sights {
    const MOST: usize = 10_000;

    async fn sees(&self, store: &dyn Store, reader: &Scope, run: RunId) -> Result<bool, StoreError> {
        let key = (reader.clone(), run);
        let lately = |at: &Instant| at.elapsed() < CHECK_EVERY / 4;
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).is_some_and(lately) {
            return Ok(true);
        }
        let seen = store.run(reader, run).await?.is_some();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Sights::MOST {
            known.retain(|_, at| lately(at));
        }
        match seen {
            true => known.insert(key, Instant::now()),
            false => known.remove(&key),
        };
        Ok(seen)
    }
}
