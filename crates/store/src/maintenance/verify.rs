//! Checks a log: every seq once, every hash linked to the one before, and the run's row at an event of the log.

use crate::{SqlStore, StoreError};
use engine::blob::Hash;
use engine::event::{Event, genesis};
use engine::ids::RunId;
use engine::workspace::Scope;
use runtime::ports::Library;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogCheck {
    Intact {
        events: u64,
    },
    /// The first problem, and the seq at which it is.
    Broken {
        seq: u64,
        what: String,
    },
}

/// Follows the hash chain of a log from its first event.
pub(super) struct Chain {
    pub head: Hash,
    pub last: u64,
}

impl Chain {
    pub(crate) fn of(run: RunId) -> Chain {
        Chain { head: genesis(run), last: 0 }
    }

    /// Checks the next event. `Err` has the seq and the problem there.
    pub(crate) fn follow(&mut self, event: &Event) -> Result<(), (u64, &'static str)> {
        if event.seq != self.last + 1 {
            return Err((self.last + 1, "an event is missing"));
        }
        if event.link(self.head) != event.hash {
            return Err((event.seq, "the event was changed after it was written"));
        }
        (self.head, self.last) = (event.hash, event.seq);
        Ok(())
    }
}

impl SqlStore {
    pub async fn verify(&self, run: RunId) -> Result<LogCheck, StoreError> {
        let broken = |seq, what: &str| Ok(LogCheck::Broken { seq, what: what.into() });
        // The row must be read before the log. The log may grow in between, and then it still contains the event of the
        // row.
        let row = self.run(&Scope::Platform, run).await?;
        let mut chain = Chain::of(run);
        let mut on_row = false;
        loop {
            let events = self.page_after(run, chain.last).await?;
            if events.is_empty() {
                break;
            }
            for event in &events {
                if let Err((seq, what)) = chain.follow(event) {
                    return broken(seq, what);
                }
                on_row |= row.as_ref().is_some_and(|row| (row.last_seq, row.head) == (chain.last, chain.head));
            }
        }
        match row {
            None if chain.last == 0 && self.last_seq(run).await?.is_none() => Ok(LogCheck::Intact { events: 0 }),
            None => broken(chain.last, "the run has no row"),
            Some(_) if !on_row => broken(chain.last, "the run's row names another last event than its log has"),
            Some(_) => Ok(LogCheck::Intact { events: chain.last }),
        }
    }

    /// Checks every log. Returns those that are not intact.
    pub async fn verify_all(&self) -> Result<Vec<(RunId, LogCheck)>, StoreError> {
        let mut found = Vec::new();
        for run in self.every_run().await? {
            let verdict = self.verify(run).await?;
            if !matches!(verdict, LogCheck::Intact { .. }) {
                found.push((run, verdict));
            }
        }
        Ok(found)
    }
}
