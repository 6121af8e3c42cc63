//! Views of runs at any seq, folded from the nearest checkpoint. The driver stores checkpoints as the run grows, so a reader
//! never folds more than the events between two checkpoints.

use crate::ports::{Log, StoreError};
use engine::event::Event;
use engine::ids::RunId;
use engine::view::{FORMAT, View};

/// The events between two checkpoints, at first.
pub const CHECKPOINT_INTERVAL: u64 = 5_000;
/// Beyond twice this many checkpoints, the distance between them doubles whenever the log doubles. A checkpoint is as long
/// as the run is large, so at one distance their sum would grow with the square of the log.
const PER_DOUBLING: u64 = 32;
const PAGE: usize = 1_000;

/// The seq of the last checkpoint at or before this one; 0 when there is none.
pub fn checkpoint_before(seq: u64) -> u64 {
    let doublings = (seq / (CHECKPOINT_INTERVAL * PER_DOUBLING)).max(1).ilog2();
    seq - seq % (CHECKPOINT_INTERVAL << doublings)
}

/// The view after `seq`; `None` when the run has no such event.
pub async fn view_at(log: &(impl Log + ?Sized), run: RunId, seq: u64) -> Result<Option<View>, StoreError> {
    let kept = match checkpoint_before(seq) > 0 {
        true => log.checkpoint(run, seq, FORMAT).await?.and_then(|text| View::decode(&text).ok()),
        false => None,
    };
    fold_to(log, run, kept, seq).await
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
        let wanted = (seq - reached).min(PAGE as u64) as usize;
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
    if checkpoint_before(view.seq()) != view.seq() {
        return;
    }
    let kept = match view.encode() {
        Ok(text) => log.keep_checkpoint(run, view.seq(), FORMAT, text).await,
        Err(error) => Err(StoreError::Unusable(error.to_string())),
    };
    if let Err(error) = kept {
        tracing::debug!(%run, seq = view.seq(), %error, "a checkpoint was not kept");
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
            None if checkpoint_before(last) >= first => {
                self.view = view_at(log, run, last).await.unwrap_or_default();
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_get_rarer_as_a_log_grows() {
        let before: Vec<u64> = [4_999, 5_000, 319_999, 329_999, 1_279_999, 1_319_999].map(checkpoint_before).into();
        assert_eq!(before, [0, 5_000, 315_000, 320_000, 1_260_000, 1_280_000]);
    }

    #[test]
    fn a_reader_folds_5_000_events_or_a_thirty_second_of_the_log_at_most() {
        for seq in (1..10_000_000).step_by(997) {
            assert!(seq - checkpoint_before(seq) < CHECKPOINT_INTERVAL.max(seq / 32), "{seq}");
        }
    }
}
