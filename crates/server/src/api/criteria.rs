//! Success criteria of a run: a person's word on one, and whether what was checked has changed since.

use super::commands::{RunResult, run_command};
use super::prelude::*;
use engine::batch::RunRow;
use engine::criteria::CriterionRecord;
use engine::facts::evidence::{CitedEvidence, CriterionDecision};
use engine::ids::RunId;
use engine::run::Command;
use runtime::ports::StoreError;
use std::collections::HashMap;
use uuid::Uuid;

/// The word for all criteria in the path; only `recheck` takes it.
pub(crate) const ALL: &str = "all";

pub(super) fn routes() -> Vec<Route> {
    let decisions = one_of(CriterionDecision::ALL.iter().map(|decision| decision.name()));
    let route = "/api/runs/{id}/criteria/{criterion}";
    vec![
        Route::patch(route, Run, "Accept or reject a criterion, or have it checked again", decide)
            .body(form([("decision", decisions)], [("note", text())]))
            .returns_run(),
    ]
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CriterionWord {
    pub decision: CriterionDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

async fn decide(
    Context(app, caller): Context,
    Path((run, criterion)): Path<(String, String)>,
    JsonBody(CriterionWord { decision, note }): JsonBody<CriterionWord>,
) -> RunResult {
    let run: RunId = run.parse().map_err(|_| Problem::not_found("run"))?;
    let criterion = Some(criterion).filter(|named| named != ALL);
    let Json(mut row) = run_command(&app, &caller, run, Command::Criterion { criterion, decision, note }).await?;
    mark_stale(&app, [&mut row]).await?;
    Ok(Json(row))
}

/// Marks criteria that cite a document or task in another version than it has now. Only the numbers are compared, so this reads
/// them whoever asks: the run, which the caller sees, names the old ones.
pub(super) async fn mark_stale<'a>(
    app: &AppState,
    rows: impl IntoIterator<Item = &'a mut RunRow>,
) -> Result<(), StoreError> {
    let mut rows: Vec<&mut RunRow> = rows.into_iter().collect();
    let cited = rows.iter().flat_map(|row| &row.success_criteria).flat_map(|criterion| &criterion.evidence);
    let ids: Vec<Uuid> = cited.filter_map(|cited| versioned(cited).map(|(id, _)| id)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let now = app.store.versions_of(&ids).await?;
    for criterion in rows.iter_mut().flat_map(|row| &mut row.success_criteria) {
        criterion.stale = is_stale(criterion, &now);
    }
    Ok(())
}

fn is_stale(criterion: &CriterionRecord, now: &HashMap<Uuid, i64>) -> bool {
    criterion.evidence.iter().filter_map(versioned).any(|(id, version)| now.get(&id) != Some(&version))
}

/// A cited document or task, with the version that was checked.
fn versioned(cited: &CitedEvidence) -> Option<(Uuid, i64)> {
    let (_, id) = cited.reference.split_once(':')?;
    Some((id.parse().ok()?, cited.version?))
}
