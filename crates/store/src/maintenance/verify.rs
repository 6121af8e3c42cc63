//! Is a log whole? Every seq once, every hash linked to the one before, and the run's row at its end.

use crate::{SqlStore, StoreError};
use engine::event::genesis;
use engine::ids::RunId;
use engine::workspace::Scope;
use runtime::ports::Library;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Intact {
        events: u64,
    },
    /// The first thing wrong, at this seq.
    Broken {
        seq: u64,
        what: String,
    },
}

impl SqlStore {
    pub async fn verify(&self, run: RunId) -> Result<Verdict, StoreError> {
        let broken = |seq, what: &str| Ok(Verdict::Broken { seq, what: what.into() });
        let (mut head, mut last) = (genesis(run), 0);
        loop {
            let events = self.page_after(run, last).await?;
            if events.is_empty() {
                break;
            }
            for event in events {
                if event.seq != last + 1 {
                    return broken(last + 1, "an event is missing");
                }
                if event.link(head) != event.hash {
                    return broken(event.seq, "the event was changed after it was written");
                }
                (head, last) = (event.hash, event.seq);
            }
        }
        match self.run(&Scope::Platform, run).await? {
            None => broken(last, "the run has no row; run `pleach rebuild`"),
            Some(row) if (row.last_seq, row.head) != (last, head) => {
                broken(last, "the run's row and its log end differently; run `pleach rebuild`")
            }
            Some(_) => Ok(Verdict::Intact { events: last }),
        }
    }

    /// Every run that is not intact.
    pub async fn verify_all(&self) -> Result<Vec<(RunId, Verdict)>, StoreError> {
        let mut found = Vec::new();
        for run in self.every_run().await? {
            let verdict = self.verify(run).await?;
            if !matches!(verdict, Verdict::Intact { .. }) {
                found.push((run, verdict));
            }
        }
        Ok(found)
    }
}
