//! Folds a run from its log, page by page.

use crate::ports::{Log, StoreError};
use engine::event::Event;
use engine::ids::RunId;
use engine::run::Run;

const PAGE_EVENTS: usize = 2_000;

/// Whether events drafted here are in the log. A commit whose answer was lost may or may not have happened.
pub(crate) async fn is_stored(log: &dyn Log, drafted: &[Event]) -> Result<bool, StoreError> {
    let Some(last) = drafted.last() else { return Ok(true) };
    let found = log.events(last.run_id, last.seq - 1, 1).await?;
    Ok(found.first().is_some_and(|stored| stored.hash == last.hash))
}

/// `None` when there is no such run.
pub(crate) async fn load(log: &dyn Log, id: RunId) -> Result<Option<Run>, StoreError> {
    let mut run: Option<Run> = None;
    loop {
        let after = run.as_ref().map_or(0, |run| run.shared.last_seq);
        let page = log.events(id, after, PAGE_EVENTS).await?;
        let full = page.len() == PAGE_EVENTS;
        for stored in page {
            let event = stored.decode();
            match &mut run {
                None => {
                    run = Some(Run::from_first_event(&event).ok_or_else(|| {
                        StoreError::Unusable(format!("the log of run {id} does not begin with run.queued"))
                    })?)
                }
                Some(run) => run.apply(&event),
            }
        }
        if !full {
            return Ok(run.map(|mut run| {
                run.take_batch();
                run
            }));
        }
    }
}
