//! What runs and people made, seen across its kinds: a run's workspace, search, edges.

use super::caller::{Caller, Id};
use super::problems::Problem;
use super::query::QueryString;
use super::route::Access::Read;
use super::route::Route;
use super::schema::{Schema, id, list, nullable, one_of, page, text, whole};
use super::{ApiResult, AppState, Page, records};
use axum::Json;
use axum::extract::State;
use engine::ids::{DocumentId, EdgeId, ProjectId, RunId};
use engine::workspace::{Document, Edge, Task};
use runtime::ports::{DocumentFilter, EdgeFilter, Hit, HitKind, Library, SearchFilter, Slice, TaskFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

const MAX_PAGE: usize = 200;
const MANY: usize = 10_000;

pub fn routes() -> Vec<Route> {
    let workspace = record! { "Workspace":
        workspace_document_id: nullable(id()), documents: list(records::document()), tasks: list(records::task()),
        edges: list(records::edge()),
    };
    vec![
        Route::get("/api/runs/{id}/workspace", Read, "What the run made, as documents, tasks and edges", of_run)
            .gives(200, workspace),
        Route::get("/api/search", Read, "Full-text search over documents, tasks and projects, newest first", search)
            .asks("q", text())
            .asks("kind", one_of(["document", "task", "project"]))
            .asks("project_id", id())
            .asks("run_id", id())
            .asks("cursor", id())
            .asks("limit", whole(1, MAX_PAGE as i64))
            .gives(200, page(hit_shape())),
        Route::get("/api/edges", Read, "The edges from, to or made by something", edges)
            .asks("src", id())
            .asks("dst", id())
            .asks("run_id", id())
            .asks("cursor", id())
            .asks("limit", whole(1, MAX_PAGE as i64))
            .gives(200, page(records::edge())),
    ]
}

/// Everything a run made, and how it hangs together.
#[derive(Debug, Serialize, Deserialize)]
pub struct Workspace {
    pub workspace_document_id: Option<DocumentId>,
    pub documents: Vec<Document>,
    pub tasks: Vec<Task>,
    pub edges: Vec<Edge>,
}

async fn of_run(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<RunId>) -> ApiResult<Json<Workspace>> {
    let run = caller.run(&app, id).await?;
    let scope = caller.scope();
    let documents = DocumentFilter { run_id: Some(id), limit: MANY, ..DocumentFilter::default() };
    let tasks = TaskFilter { run_id: Some(id), limit: MANY, ..TaskFilter::default() };
    let edges = EdgeFilter { run_id: Some(id), ..EdgeFilter::default() };
    Ok(Json(Workspace {
        workspace_document_id: run.workspace_document_id,
        documents: app.store.documents(&scope, documents).await?,
        tasks: app.store.tasks(&scope, tasks).await?,
        edges: app.store.edges(&scope, edges, Slice::first(MANY)).await?,
    }))
}

#[derive(Deserialize)]
struct SearchQuery {
    #[serde(default)]
    q: String,
    kind: Option<Kind>,
    project_id: Option<ProjectId>,
    /// Only what this run made.
    run_id: Option<RunId>,
    cursor: Option<Uuid>,
    limit: Option<usize>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Document,
    Task,
    Project,
}

impl From<Kind> for HitKind {
    fn from(kind: Kind) -> HitKind {
        match kind {
            Kind::Document => HitKind::Document,
            Kind::Task => HitKind::Task,
            Kind::Project => HitKind::Project,
        }
    }
}

async fn search(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    QueryString(query): QueryString<SearchQuery>,
) -> ApiResult<Json<Page<Value>>> {
    if let Some(why) = runtime::search_terms::too_many(&query.q) {
        return Err(Problem::invalid("too_many_words", why));
    }
    let limit = query.limit.unwrap_or(20).clamp(1, MAX_PAGE);
    let filter = SearchFilter {
        kinds: query.kind.map(HitKind::from).into_iter().collect(),
        project_id: query.project_id,
        run_id: query.run_id,
        before: query.cursor,
        limit: limit + 1,
    };
    let hits = app.store.search(&caller.scope(), &query.q, filter).await?;
    let page = Page::cut(hits, limit, |hit| hit.id.to_string());
    Ok(Json(Page { items: page.items.into_iter().map(hit).collect(), next_cursor: page.next_cursor }))
}

fn hit_shape() -> Schema {
    record! { "Hit":
        kind: one_of(["document", "task", "project"]), id: id(), project_id: id(), title: text(), excerpt: text(),
    }
}

fn hit(hit: Hit) -> Value {
    let kind = match hit.kind {
        HitKind::Document => "document",
        HitKind::Task => "task",
        HitKind::Project => "project",
    };
    json!({"kind": kind, "id": hit.id, "project_id": hit.project_id, "title": hit.title, "excerpt": hit.excerpt})
}

#[derive(Deserialize)]
struct EdgesQuery {
    src: Option<Uuid>,
    dst: Option<Uuid>,
    run_id: Option<RunId>,
    cursor: Option<EdgeId>,
    limit: Option<usize>,
}

async fn edges(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    QueryString(query): QueryString<EdgesQuery>,
) -> ApiResult<Json<Page<Edge>>> {
    if query.src.is_none() && query.dst.is_none() && query.run_id.is_none() {
        return Err(Problem::invalid("edges_of_what", "say whose edges: src, dst or run_id"));
    }
    let limit = query.limit.unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    let filter = EdgeFilter { src: query.src, dst: query.dst, run_id: query.run_id };
    let slice = Slice { after: query.cursor, limit: limit + 1 };
    let found = app.store.edges(&caller.scope(), filter, slice).await?;
    Ok(Json(Page::cut(found, limit, |edge| edge.id.to_string())))
}
