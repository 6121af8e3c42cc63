//! Views of runs at any seq, folded from the nearest checkpoint. The driver stores checkpoints as the run grows, so a reader
//! never folds more than one checkpoint interval.

use crate::ports::{Log, StoreError};
use engine::event::Event;
use engine::ids::RunId;
use engine::view::{CHECKPOINT_FORMAT, View};

/// A checkpoint is stored after every event whose seq is a multiple of this.
pub const CHECKPOINT_INTERVAL: u64 = 5_000;
const PAGE_EVENTS: usize = 1_000;

/// The view after `seq`; `None` when the run has no such event.
pub async fn view_at(log: &(impl Log + ?Sized), run: RunId, seq: u64) -> Result<Option<View>, StoreError> {
    let checkpoint = match seq >= CHECKPOINT_INTERVAL {
        true => log.checkpoint(run, seq, CHECKPOINT_FORMAT).await?.and_then(|text| View::decode(&text).ok()),
        false => None,
    };
    fold_to(log, run, checkpoint, seq).await
}

/// Fold on from a view to `seq`. Stores the checkpoints that are missing on the way.
pub async fn fold_to(
    log: &(impl Log + ?Sized),
    run: RunId,
    from: Option<View>,
    seq: u64,
) -> Result<Option<View>, StoreError> {
    let mut view = from.filter(|view| view.seq() <= seq);
    loop {
        let reached = view.as_ref().map_or(0, View::seq);
        let wanted = (seq - reached).min(PAGE_EVENTS as u64) as usize;
        if wanted == 0 {
            return Ok(view);
        }
        let page = log.events(run, reached, wanted).await?;
        if page.len() < wanted {
            return Ok(None);
        }
        for stored in page {
            let event = stored.decode();
            match &mut view {
                Some(view) => view.apply(&event),
                None => view = View::from_first_event(&event),
            }
            match &view {
                Some(view) => store_checkpoint_if_due(log, run, view).await,
                None => {
                    return Err(StoreError::Unusable(format!("the log of run {run} does not begin with run.queued")));
                }
            }
        }
    }
}

/// A checkpoint that cannot be stored is made again when it is needed.
async fn store_checkpoint_if_due(log: &(impl Log + ?Sized), run: RunId, view: &View) {
    if !view.seq().is_multiple_of(CHECKPOINT_INTERVAL) {
        return;
    }
    let stored = match view.encode() {
        Ok(text) => log.store_checkpoint(run, view.seq(), CHECKPOINT_FORMAT, text).await,
        Err(error) => Err(StoreError::Unusable(error.to_string())),
    };
    if let Err(error) = stored {
        tracing::debug!(%run, seq = view.seq(), %error, "a checkpoint was not stored");
    }
}

/// Stores the checkpoints of one run while it is driven. A run shorter than one checkpoint interval costs nothing: its view
/// is folded when the first interval is full.
#[derive(Default)]
pub(crate) struct CheckpointWriter {
    view: Option<View>,
}

impl CheckpointWriter {
    pub(crate) async fn committed(&mut self, log: &(impl Log + ?Sized), run: RunId, events: &[Event]) {
        let Some(last) = events.last().map(|event| event.seq) else { return };
        let first = events[0].seq;
        match self.view.take_if(|view| view.seq() + 1 == first) {
            Some(mut view) => {
                for event in events {
                    view.apply(event);
                    store_checkpoint_if_due(log, run, &view).await;
                }
                self.view = Some(view);
            }
            None if first.div_ceil(CHECKPOINT_INTERVAL) <= last / CHECKPOINT_INTERVAL => {
                self.view = view_at(log, run, last).await.unwrap_or_default();
            }
            None => {}
        }
    }
}
