//! A run and its newest iteration up to the moment of the request: working time goes on and calls cost money between two
//! events. Computed when they are read; nothing is stored.

use super::AppState;
use engine::batch::{IterationRow, RunRow};
use engine::run::Status;
use runtime::ports::StoreError;
use serde_json::json;

/// A run that nobody drives has done nothing since its driver was last seen.
pub(super) async fn up_to_now(app: &AppState, run: RunRow) -> Result<RunRow, StoreError> {
    if run.status != Status::Running {
        return Ok(run);
    }
    let Some(driven) = app.store.last_driven(run.id).await? else { return Ok(run) };
    let found = app.views.read(app, run.id, run.last_seq, |view| view.at(driven.at)).await?;
    Ok(match found {
        Some((metrics, running)) => RunRow { metrics, running: running.filter(|_| driven.now), ..run },
        None => run,
    })
}

/// The metrics of an iteration that has not ended: what it has used so far.
pub(super) async fn iterations_up_to_now(
    app: &AppState,
    run: &RunRow,
    mut rows: Vec<IterationRow>,
) -> Result<Vec<IterationRow>, StoreError> {
    let Some(open) = rows.iter_mut().rev().find(|row| row.metrics.is_null()) else { return Ok(rows) };
    let driven = match run.status {
        Status::Running => app.store.last_driven(run.id).await?,
        _ => None,
    };
    let at = driven.map_or(run.updated_at, |driven| driven.at);
    let found = app.views.read(app, run.id, run.last_seq, |view| view.iteration_at(at)).await?;
    if let Some((_, metrics, running)) = found.flatten().filter(|(iteration, ..)| *iteration == open.iteration) {
        open.metrics = json!(metrics);
        open.running = running.filter(|_| driven.is_some_and(|driven| driven.now));
    }
    Ok(rows)
}
