//! Routes across documents, tasks and projects: the workspace of a run, search, and edges.

use super::prelude::*;
use engine::ids::{DocumentId, EdgeId, ProjectId, RunId};
use engine::workspace::{Document, Edge, Task};
use runtime::ports::{DocumentFilter, EdgeFilter, Hit, HitKind, SearchFilter, TaskFilter};
use uuid::Uuid;

const MANY: usize = 10_000;

pub(super) fn routes() -> Vec<Route> {
    let workspace = record! { "Workspace":
        workspace_document_id: nullable(id()), documents: list_of(records::document()),
        tasks: list_of(records::task()), edges: list_of(records::edge()),
    };
    vec![
        Route::get("/api/runs/{id}/workspace", Read, "What the run made, as documents, tasks and edges", of_run)
            .returns(200, workspace),
        Route::get("/api/search", Read, "Full-text search over documents, tasks and projects, newest first", search)
            .query("q", text())
            .query("kind", one_of(["document", "task", "project"]))
            .query("project_id", id())
            .query("run_id", id())
            .query("type_key", text())
            .returns_page(id(), hit_schema()),
        Route::get("/api/edges", Read, "The edges that start at src, end at dst, or were made by run_id", edges)
            .query("src", id())
            .query("dst", id())
            .query("run_id", id())
            .returns_page(id(), records::edge()),
    ]
}

/// Everything that a run made, with its edges.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Workspace {
    pub workspace_document_id: Option<DocumentId>,
    pub documents: Vec<Document>,
    pub tasks: Vec<Task>,
    pub edges: Vec<Edge>,
}

async fn of_run(Context(app, caller): Context, Id(id): Id<RunId>) -> JsonResult<Workspace> {
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
    kind: Option<HitKind>,
    project_id: Option<ProjectId>,
    /// Only what this run made.
    run_id: Option<RunId>,
    /// Only documents of this type; so the platform's own are found.
    type_key: Option<String>,
    cursor: Option<Uuid>,
    limit: Option<usize>,
}

async fn search(Context(app, caller): Context, QueryString(query): QueryString<SearchQuery>) -> PageResult<Hit> {
    if let Some(why) = runtime::search_terms::too_many(&query.q) {
        return Err(Problem::invalid("too_many_words", why));
    }
    let limit = page_limit(query.limit, 20);
    let filter = SearchFilter {
        kinds: query.kind.into_iter().collect(),
        project_id: query.project_id,
        run_id: query.run_id,
        type_key: query.type_key,
        before: query.cursor,
        limit: limit + 1,
    };
    let hits = app.store.search(&caller.scope(), &query.q, filter).await?;
    Ok(Json(Page::cut(hits, limit, |hit| hit.id.to_string())))
}

fn hit_schema() -> Schema {
    record! { "Hit":
        kind: one_of(["document", "task", "project"]), id: id(), project_id: id(), title: text(), excerpt: text(),
    }
}

#[derive(Deserialize)]
struct EdgesQuery {
    src: Option<Uuid>,
    dst: Option<Uuid>,
    run_id: Option<RunId>,
    cursor: Option<EdgeId>,
    limit: Option<usize>,
}

async fn edges(Context(app, caller): Context, QueryString(query): QueryString<EdgesQuery>) -> PageResult<Edge> {
    if query.src.is_none() && query.dst.is_none() && query.run_id.is_none() {
        return Err(Problem::invalid("edges_of_what", "give src, dst or run_id: edges are listed for one of them"));
    }
    let limit = page_limit(query.limit, MAX_PAGE);
    let filter = EdgeFilter { src: query.src, dst: query.dst, run_id: query.run_id };
    let slice = Slice { after: query.cursor, limit: limit + 1 };
    let found = app.store.edges(&caller.scope(), filter, slice).await?;
    Ok(Json(Page::cut(found, limit, |edge| edge.id.to_string())))
}
