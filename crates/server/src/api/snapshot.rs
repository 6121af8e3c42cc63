//! A run as it was after any event of its log. The views used last stay folded in memory, so that the next one folds only the
//! events in between.

use super::prelude::*;
use axum::http::HeaderMap;
use engine::ids::RunId;
use engine::view::View;
use runtime::ports::StoreError;
use runtime::views;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Views kept in memory; one of ten thousand nodes takes a few megabytes.
const KEPT: usize = 4;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/runs/{id}/snapshot", Read, "The run as it stood after an event", of_run)
            .query("at", count())
            .header("If-None-Match", text())
            .returns(200, records::run_schemas::snapshot()),
    ]
}

#[derive(Deserialize)]
struct SnapshotQuery {
    at: Option<u64>,
}

async fn of_run(
    Context(app, caller): Context,
    Id(id): Id<RunId>,
    QueryString(query): QueryString<SnapshotQuery>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let last_seq = caller.run(&app, id).await?.last_seq;
    let seq = query.at.unwrap_or(last_seq);
    if seq == 0 || seq > last_seq {
        return Err(Problem::invalid(
            "bad_seq",
            format!("run {id} has no event {seq}; its events are 1 to {last_seq}"),
        ));
    }
    // Past events never change, so the tag is the event and the end of the log.
    let tag = format!("\"{seq}-{last_seq}\"");
    let caching = [(header::ETAG, tag.clone())];
    if headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()) == Some(tag.as_str()) {
        return Ok((StatusCode::NOT_MODIFIED, caching).into_response());
    }
    let json = app.views.json(&app, id, seq, last_seq).await?;
    Ok((caching, [(header::CONTENT_TYPE, "application/json")], json).into_response())
}

/// The views that were used last.
#[derive(Default)]
pub(crate) struct Views {
    kept: Mutex<VecDeque<(RunId, View)>>,
}

impl Views {
    async fn json(&self, app: &AppState, run: RunId, seq: u64, last_seq: u64) -> ApiResult<String> {
        let read = |view: &View| view.to_json(last_seq).map_err(|error| StoreError::Unusable(error.to_string()));
        let json = self.read(app, run, seq, read).await?.ok_or_else(|| Problem::not_found("run"))?;
        Ok(json?)
    }

    /// Reads the view after this event; `None` when the run has no such event.
    pub(super) async fn read<T>(
        &self,
        app: &AppState,
        run: RunId,
        seq: u64,
        read: impl FnOnce(&View) -> T,
    ) -> Result<Option<T>, StoreError> {
        let view = match self.take(run, seq) {
            Some(view) => views::fold_to(app.store.as_ref(), run, Some(view), seq).await?,
            None => views::view_at(app.store.as_ref(), run, seq).await?,
        };
        let Some(view) = view else { return Ok(None) };
        let found = read(&view);
        self.keep(run, view);
        Ok(Some(found))
    }

    /// A cached view that is no further from `seq` than a stored checkpoint could be.
    fn take(&self, run: RunId, seq: u64) -> Option<View> {
        let mut kept = self.kept();
        let near = |view: &View| view.seq() <= seq && view.seq() >= views::checkpoint_before(seq);
        let found = kept.iter().position(|(of, view)| *of == run && near(view))?;
        kept.remove(found).map(|(_, view)| view)
    }

    fn keep(&self, run: RunId, view: View) {
        let mut kept = self.kept();
        kept.push_front((run, view));
        kept.truncate(KEPT);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(RunId, View)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
