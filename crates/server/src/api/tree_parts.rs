//! What a tree's run object has beside its stored row: the root's plan, and the nodes whose pause holds the run up. Both are
//! looked up when one run is read, so that no commit of a large tree writes them again.

use super::prelude::*;
use engine::batch::{PlanRow, RunRow};
use engine::run::{Kind, PAUSED_AT_NODES};
use engine::tree::status::NodeStatus;
use std::collections::HashMap;

/// More versions than a plan has.
const MAX_VERSIONS: usize = 1_000;

pub(super) async fn with_tree_parts(app: &AppState, caller: &Caller, mut row: RunRow) -> ApiResult<RunRow> {
    let (Kind::Tree, Some(root)) = (row.kind, row.root_node_id) else { return Ok(row) };
    let (store, scope) = (&app.store, caller.scope());
    let versions = store.plans(&scope, row.id, Some(root), Slice::first(MAX_VERSIONS)).await?;
    if let Some(newest) = versions.into_iter().max_by_key(|plan| plan.version) {
        // Of several nodes for one step, the last one counts.
        let nodes: HashMap<String, NodeStatus> = store.children(&scope, row.id, root).await?.into_iter().collect();
        row.plan = shown(&newest, &nodes);
    }
    if row.activity == PAUSED_AT_NODES {
        row.paused_nodes = store.paused_nodes(&scope, row.id).await?;
    }
    Ok(row)
}

/// The plan with its steps in one list, as every kind of run shows them, and in bands, as the tree has them.
fn shown(plan: &PlanRow, nodes: &HashMap<String, NodeStatus>) -> Value {
    let bands = plan.plan_json["bands"].as_array().map(Vec::as_slice).unwrap_or_default();
    let in_bands =
        bands.iter().flat_map(|band| band["steps"].as_array().into_iter().flatten().map(move |step| (band, step)));
    let steps = in_bands.map(|(band, step)| {
        let status = match step["id"].as_str().and_then(|id| nodes.get(id)) {
            None => "pending",
            Some(NodeStatus::Completed) => "done",
            Some(status) if status.is_terminal() => "blocked",
            Some(_) => "doing",
        };
        json!({"id": step["id"], "title": step["title"], "status": status, "owner": "executor",
            "iteration_last_touched": 0, "band": band["index"]})
    });
    let steps: Vec<Value> = steps.collect();
    json!({"version": plan.version, "summary": plan.plan_json["summary"], "steps": steps, "bands": bands})
}
