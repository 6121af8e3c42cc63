//! Routes for the nodes of a tree run: read them, and control one together with everything below it.

use super::commands::{RunResult, run_command};
use super::homework_parts;
use super::prelude::*;
use super::query::AfterQuery;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use engine::batch::{ArtifactRow, NodeRow, PlanRow};
use engine::event::StoredEvent;
use engine::ids::{ArtifactId, NodeId, NodeNumber, PlanId, RunId};
use engine::run::{Command, Kind, NodeCommand};
use engine::time::Timestamp;
use engine::workspace::Entry;
use std::collections::BTreeSet;
use store::NodeFilter;
use uuid::Uuid;

const PAGE: usize = 200;
const MAX_PAGE: usize = 1_000;
const LAST_ENTRIES: usize = 5;
/// Plans or artifacts in one response; enough for whole trees of the usual sizes.
const MAX_ROWS_PER_RESPONSE: usize = 10_000;

pub(super) fn routes() -> Vec<Route> {
    const NODE: &str = "/api/runs/{id}/nodes/{node}";
    let limit = || whole(1, MAX_PAGE as i64);
    vec![
        Route::get("/api/runs/{id}/nodes", Read, "A tree's nodes in the order they were made", list)
            .query("cursor", count())
            .query("since", time())
            .query("limit", limit())
            .returns(200, page(records::node())),
        Route::get(NODE, Read, "One node with its step, timeline, result and scratchpad tail", show)
            .returns(200, view()),
        Route::get("/api/runs/{id}/nodes/{node}/events", Read, "The events of one node", timeline)
            .query("after", count())
            .query("limit", limit())
            .returns(200, page(records::event())),
        order("/api/runs/{id}/nodes/{node}/cancel", "End a node and all below it", NodeCommand::Cancel),
        Route::post("/api/runs/{id}/nodes/{node}/retry", Run, "Do a step again with a new node", retry)
            .body(form([], [("dependents", flag())]))
            .returns_run(),
        order("/api/runs/{id}/nodes/{node}/pause", "Start no call of this subtree", NodeCommand::Pause),
        order("/api/runs/{id}/nodes/{node}/resume", "Let a paused subtree go on", NodeCommand::Resume),
        Route::get("/api/runs/{id}/plans", Read, "Every version of every plan", plans)
            .query("node_id", id())
            .query("cursor", id())
            .query("limit", whole(1, MAX_ROWS_PER_RESPONSE as i64))
            .returns(200, list_of(plan())),
        Route::get("/api/runs/{id}/artifacts", Read, "What the nodes or the iterations made", artifacts)
            .query("node_id", id())
            .query("cursor", id())
            .query("limit", whole(1, MAX_ROWS_PER_RESPONSE as i64))
            .returns(200, list_of(records::artifact())),
    ]
}

fn order(path: &'static str, summary: &'static str, order: NodeCommand) -> Route {
    let handler = move |Context(app, caller): Context, path: NodePath| async move {
        run_command(&app, &caller, path.run, Command::Node { node: path.node, order }).await
    };
    Route::post(path, Run, summary, handler).returns_run()
}

/// With `dependents`, what rested on the node's result in later bands is done again after it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Retry {
    pub dependents: bool,
}

async fn retry(Context(app, caller): Context, path: NodePath, JsonBody(sent): JsonBody<Retry>) -> RunResult {
    let order = if sent.dependents { NodeCommand::RetryWithDependents } else { NodeCommand::Retry };
    run_command(&app, &caller, path.run, Command::Node { node: path.node, order }).await
}

fn plan() -> Schema {
    record! { "PlanVersion":
        id: id(), run_id: id(), node_id: nullable(id()), version: count(), plan_json: anything(), created_at: time();
        iteration: count(),
    }
}

fn view() -> Schema {
    let own = record! {
        step: anything(), plans: list_of(plan()), artifacts: list_of(records::artifact()),
        reads: list_of(records::artifact()), questions: list_of(records::question()),
        scratchpad: list_of(anything()), timeline: list_of(records::event()),
        timeline_next_cursor: nullable(text()),
    };
    serde_json::json!({"allOf": [records::node(), own]})
}

/// The run id and node id of the path.
struct NodePath {
    run: RunId,
    node: NodeId,
}

impl FromRequestParts<Arc<AppState>> for NodePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, Problem> {
        let path = Path::<(String, String)>::from_request_parts(parts, app).await;
        let Path((run, node)) = path.map_err(|_| Problem::not_found("node"))?;
        let run = run.parse().map_err(|_| Problem::not_found("run"))?;
        let node = node.parse().map_err(|_| Problem::not_found("node"))?;
        Ok(NodePath { run, node })
    }
}

#[derive(Deserialize)]
struct ListQuery {
    /// The ordinal of the last node of the previous page.
    cursor: Option<NodeNumber>,
    /// Only nodes with an event at this time or later.
    since: Option<Timestamp>,
    limit: Option<usize>,
}

async fn list(
    Context(app, caller): Context,
    Id(id): Id<RunId>,
    QueryString(query): QueryString<ListQuery>,
) -> PageResult<NodeRow> {
    caller.run(&app, id).await?;
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let filter = NodeFilter { after: query.cursor, since: query.since, limit };
    let items = app.store.nodes(&caller.scope(), id, filter).await?;
    Ok(Json(Page::full(items, limit, |node| node.ordinal.to_string())))
}

/// One node with what belongs to it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NodeView {
    #[serde(flatten)]
    pub node: NodeRow,
    /// The step of its parent's plan that it works on, with its band's goal; null for the root.
    pub step: Value,
    pub plans: Vec<PlanRow>,
    pub artifacts: Vec<ArtifactRow>,
    /// Artifacts of its children that it was shown.
    pub reads: Vec<ArtifactRow>,
    pub questions: Vec<Value>,
    /// The newest entries of its scratchpad, oldest first.
    pub scratchpad: Vec<Entry>,
    /// Its first events; `/nodes/{node}/events` has the rest.
    pub timeline: Vec<Value>,
    pub timeline_next_cursor: Option<String>,
}

async fn show(Context(app, caller): Context, path: NodePath) -> JsonResult<NodeView> {
    let NodePath { run, node } = path;
    let row = caller.run(&app, run).await?;
    let node = find(&app, &caller, run, node).await?;
    let (store, scope) = (&app.store, caller.scope());
    let asked = row.questions.as_array().into_iter().flatten();
    let questions = asked.filter(|question| question["node_id"] == json!(node.id)).cloned().collect();
    let mut scratchpad = store.entries(&scope, node.scratchpad_doc_id, None, LAST_ENTRIES).await?;
    scratchpad.reverse();
    let events = store.timeline(&scope, run, node.id, 0, PAGE).await?;
    let reads = reads(&events, store.artifacts(&scope, run, None, Slice::first(MAX_ROWS_PER_RESPONSE)).await?);
    let timeline_next_cursor = next(&events, PAGE);
    Ok(Json(NodeView {
        step: step(&app, &caller, &node).await?,
        plans: store.plans(&scope, run, Some(node.id), Slice::first(MAX_PAGE)).await?,
        artifacts: store.artifacts(&scope, run, Some(node.id), Slice::first(MAX_PAGE)).await?,
        reads,
        questions,
        scratchpad,
        timeline: public(events),
        timeline_next_cursor,
        node,
    }))
}

/// The artifacts that `tree.artifact_read` events of a node name.
fn reads(events: &[StoredEvent], artifacts: Vec<ArtifactRow>) -> Vec<ArtifactRow> {
    let receipts = events.iter().filter(|event| event.kind == "tree.artifact_read");
    let read: BTreeSet<String> = receipts
        .filter_map(|event| serde_json::from_str::<Value>(&event.payload).ok())
        .filter_map(|payload| payload["artifactId"].as_str().map(str::to_owned))
        .collect();
    artifacts.into_iter().filter(|artifact| read.contains(&artifact.id.to_string())).collect()
}

async fn find(app: &AppState, caller: &Caller, run: RunId, node: NodeId) -> ApiResult<NodeRow> {
    app.store.node(&caller.scope(), run, node).await?.ok_or_else(|| Problem::not_found("node"))
}

/// The step that the node works on, from the newest plan of its parent that has it.
async fn step(app: &AppState, caller: &Caller, node: &NodeRow) -> ApiResult<Value> {
    let (Some(parent), Some(step_id)) = (node.parent_node_id, &node.step_id) else { return Ok(Value::Null) };
    let plans = app.store.plans(&caller.scope(), node.run_id, Some(parent), Slice::first(MAX_PAGE)).await?;
    let newest_first = plans.iter().rev().flat_map(|plan| {
        let bands = plan.plan_json["bands"].as_array().into_iter().flatten();
        bands.map(move |band| (plan, band))
    });
    for (plan, band) in newest_first {
        let mut steps = band["steps"].as_array().into_iter().flatten();
        if let Some(step) = steps.find(|step| step["id"] == step_id.as_str()) {
            return Ok(
                json!({"plan_id": plan.id, "version": plan.version, "band": {"index": band["index"], "goal": band["goal"]}, "step": step}),
            );
        }
    }
    Ok(Value::Null)
}

async fn timeline(
    Context(app, caller): Context,
    path: NodePath,
    QueryString(query): QueryString<AfterQuery>,
) -> PageResult<Value> {
    let node = find(&app, &caller, path.run, path.node).await?;
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let events = app.store.timeline(&caller.scope(), path.run, node.id, query.after, limit).await?;
    let next_cursor = next(&events, limit);
    Ok(Json(Page { items: public(events), next_cursor }))
}

fn next(events: &[StoredEvent], limit: usize) -> Option<String> {
    events.last().filter(|_| events.len() == limit).map(|event| event.seq.to_string())
}

fn public(events: Vec<StoredEvent>) -> Vec<Value> {
    events.into_iter().filter_map(|event| serde_json::from_str(&event.decode().to_json()).ok()).collect()
}

#[derive(Deserialize)]
pub(super) struct PartsQuery<C> {
    node_id: Option<NodeId>,
    /// The last item of the previous page.
    cursor: Option<C>,
    limit: Option<usize>,
}

impl<C> PartsQuery<C> {
    fn slice(self) -> Slice<C> {
        Slice { after: self.cursor, limit: self.limit.unwrap_or(MAX_ROWS_PER_RESPONSE).clamp(1, MAX_ROWS_PER_RESPONSE) }
    }

    /// The part of a whole list that was asked for. What belongs to a node is not in a list without nodes.
    pub(super) fn part_of<T>(self, mut list: Vec<T>, id: impl Fn(&T) -> Uuid) -> Vec<T>
    where
        C: Into<Uuid>,
    {
        if self.node_id.is_some() {
            return Vec::new();
        }
        let Slice { after, limit } = self.slice();
        let after = after.map(Into::into);
        let known = list.iter().position(|item| Some(id(item)) == after).map_or(0, |at| at + 1);
        list.drain(..known);
        list.truncate(limit);
        list
    }
}

async fn plans(
    Context(app, caller): Context,
    Id(id): Id<RunId>,
    QueryString(query): QueryString<PartsQuery<PlanId>>,
) -> ApiResult<Response> {
    Ok(match caller.run(&app, id).await?.kind {
        Kind::Homework => Json(homework_parts::plans(&app, id, query).await?).into_response(),
        Kind::Tree | Kind::Task => {
            Json(app.store.plans(&caller.scope(), id, query.node_id, query.slice()).await?).into_response()
        }
    })
}

async fn artifacts(
    Context(app, caller): Context,
    Id(id): Id<RunId>,
    QueryString(query): QueryString<PartsQuery<ArtifactId>>,
) -> ApiResult<Response> {
    Ok(match caller.run(&app, id).await?.kind {
        Kind::Homework => Json(homework_parts::artifacts(&app, id, query).await?).into_response(),
        Kind::Tree | Kind::Task => {
            Json(app.store.artifacts(&caller.scope(), id, query.node_id, query.slice()).await?).into_response()
        }
    })
}
