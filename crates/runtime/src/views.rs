//! Views of runs at any seq, folded from the nearest checkpoint; and the checkpoints, kept as a run is driven
//! so that nobody ever folds more than one stretch.

use crate::ports::{Log, StoreError};
use engine::event::Event;
use engine::ids::RunId;
use engine::view::{FORMAT, View};

/// A checkpoint is kept after every event whose seq is a multiple of this.
pub const STRETCH: u64 = 5_000;
const PAGE: usize = 1_000;

/// The view after `seq`; `None` when the run has no such event.
pub async fn at(log: &(impl Log + ?Sized), run: RunId, seq: u64) -> Result<Option<View>, StoreError> {
    let kept = match seq >= STRETCH {
        true => log.checkpoint(run, seq, FORMAT).await?.and_then(|text| View::decode(&text).ok()),
        false => None,
    };
    onward(log, run, kept, seq).await
}

/// Fold on from a view to `seq`. Stretches that were never kept are kept now.
pub async fn onward(
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
                Some(view) => keep(log, run, view).await,
                None => {
                    return Err(StoreError::Unusable(format!("the log of run {run} does not begin with run.queued")));
                }
            }
        }
    }
}

/// Where a stretch ends. A checkpoint that cannot be kept is made again when it is needed.
async fn keep(log: &(impl Log + ?Sized), run: RunId, view: &View) {
    if !view.seq().is_multiple_of(STRETCH) {
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

/// Keeps the checkpoints of one run while it is driven. Short runs cost nothing: the view begins with the
/// first stretch that ends.
#[derive(Default)]
pub(crate) struct Keeper {
    view: Option<View>,
}

impl Keeper {
    pub(crate) async fn committed(&mut self, log: &(impl Log + ?Sized), run: RunId, events: &[Event]) {
        let Some(last) = events.last().map(|event| event.seq) else { return };
        let first = events[0].seq;
        match self.view.take_if(|view| view.seq() + 1 == first) {
            Some(mut view) => {
                for event in events {
                    view.apply(event);
                    keep(log, run, &view).await;
                }
                self.view = Some(view);
            }
            None if first.div_ceil(STRETCH) <= last / STRETCH => {
                self.view = at(log, run, last).await.unwrap_or_default();
            }
            None => {}
        }
    }
}
