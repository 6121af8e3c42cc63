//! What a homework run made and planned, read from its log in the shape in which a tree's artifacts and plans are shown. It must
//! not know how a run decides.

use super::nodes::PartsQuery;
use super::prelude::*;
use engine::event::StoredEvent;
use engine::facts::homework::{PlanUpdated, ToolCallRequested, ToolCallResult};
use engine::facts::{Fact, HomeworkFact as H};
use engine::ids::RunId;
use engine::time::Timestamp;
use engine::workspace::Named;
use runtime::ports::Log;
use std::collections::HashMap;
use uuid::Uuid;

const EVENTS_AT_ONCE: usize = 2_000;

/// One version of the plan; the whole run has one plan.
#[derive(Serialize)]
pub(super) struct PlanVersion {
    id: Uuid,
    run_id: RunId,
    node_id: Option<Uuid>,
    version: u32,
    plan_json: Value,
    created_at: Timestamp,
    iteration: u32,
}

/// A document or task that the run created or changed, once, by its own id.
#[derive(Serialize)]
pub(super) struct MadeItem {
    id: Uuid,
    run_id: RunId,
    node_id: Option<Uuid>,
    artifact_type: &'static str,
    document_id: Option<Uuid>,
    task_id: Option<Uuid>,
    json_payload: Value,
    content: Value,
    is_primary: bool,
    label: String,
    change: &'static str,
    iteration: u32,
    branch_id: Option<String>,
    created_at: Timestamp,
}

pub(super) async fn plans<C: Into<Uuid>>(
    app: &AppState,
    run: RunId,
    query: PartsQuery<C>,
) -> ApiResult<Vec<PlanVersion>> {
    let mut found = Vec::new();
    each_fact(app, run, |event, fact| {
        if let H::PlanUpdated(PlanUpdated { iteration, version, steps, .. }) = fact {
            let id = engine::ids::derive(event.at, &[run.0.as_bytes(), b"plan", &version.to_le_bytes()]);
            let plan_json = json!({ "version": version, "steps": steps });
            found.push(PlanVersion {
                id,
                run_id: run,
                node_id: None,
                version,
                plan_json,
                created_at: event.at,
                iteration,
            });
        }
    })
    .await?;
    Ok(query.part_of(found, |plan| plan.id))
}

pub(super) async fn artifacts<C: Into<Uuid>>(
    app: &AppState,
    run: RunId,
    query: PartsQuery<C>,
) -> ApiResult<Vec<MadeItem>> {
    let mut found: Vec<MadeItem> = Vec::new();
    let mut asked: HashMap<String, (u32, Option<String>)> = HashMap::new();
    each_fact(app, run, |event, fact| match fact {
        H::ToolCallRequested(ToolCallRequested { call_id, iteration, branch_id, .. }) => {
            asked.insert(call_id.0, (iteration, branch_id));
        }
        H::ToolCallResult(ToolCallResult { call_id, artifacts, .. }) => {
            let (iteration, branch_id) = asked.remove(&call_id.0).unwrap_or_default();
            let lists = [
                (&artifacts.created_documents, "document", "created"),
                (&artifacts.updated_documents, "document", "updated"),
                (&artifacts.created_tasks, "task", "created"),
                (&artifacts.updated_tasks, "task", "updated"),
            ];
            for (named, kind, change) in
                lists.into_iter().flat_map(|(list, kind, change)| list.iter().map(move |named| (named, kind, change)))
            {
                if found.iter().any(|known| known.id == named.id) {
                    continue;
                }
                found.push(made(run, named, kind, change, (iteration, branch_id.clone()), event.at));
            }
        }
        _ => {}
    })
    .await?;
    Ok(query.part_of(found, |made| made.id))
}

fn made(
    run_id: RunId,
    Named { id, title }: &Named,
    kind: &str,
    change: &'static str,
    (iteration, branch_id): (u32, Option<String>),
    created_at: Timestamp,
) -> MadeItem {
    let is_document = kind == "document";
    MadeItem {
        id: *id,
        run_id,
        node_id: None,
        artifact_type: if is_document { "document" } else { "other" },
        document_id: is_document.then_some(*id),
        task_id: (!is_document).then_some(*id),
        json_payload: Value::Null,
        content: Value::Null,
        is_primary: false,
        label: title.clone(),
        change,
        iteration,
        branch_id,
        created_at,
    }
}

/// The facts of a homework log, in order.
async fn each_fact(app: &AppState, run: RunId, mut take: impl FnMut(&StoredEvent, H)) -> ApiResult<()> {
    let mut after = 0;
    loop {
        let events = app.store.events(run, after, EVENTS_AT_ONCE).await?;
        let Some(last) = events.last() else { return Ok(()) };
        after = last.seq;
        for event in events.into_iter().filter(|event| event.kind.starts_with("homework.")) {
            if let Fact::Homework(fact) = event.clone().decode().fact {
                take(&event, fact);
            }
        }
    }
}
