//! Documents, tasks, projects, actors: what runs and people made, seen with the caller's eyes.

use super::caller::{Asked, Caller, Id, Sent};
use super::problems::Problem;
use super::route::Access::{Admin, Read, Run};
use super::route::Route;
use super::shape::{count, form, id, list, nullable, one_of, open, record, text, whole, words};
use super::{Answer, House, records, runs};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use engine::actor::ActorKind;
use engine::ids::{DocumentId, ProjectId, RunId};
use engine::workspace::{ActorRecord, Change, Document, Edge, Entry, Mutation, Project, Task};
use runtime::ports::{DocumentFilter, DocumentVersion, Hit, HitKind, TaskFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

const MANY: usize = 10_000;

pub fn routes() -> Vec<Route> {
    let workspace = record(
        [
            ("workspace_document_id", nullable(id())),
            ("documents", list(records::document())),
            ("tasks", list(records::task())),
            ("edges", list(records::edge())),
        ],
        [],
    );
    vec![
        Route::get("/api/runs/{id}/workspace", Read, "What the run made, as documents, tasks and edges", of_run)
            .gives(200, workspace),
        Route::get("/api/documents/{id}", Read, "A document", document).gives(200, records::document()),
        Route::get("/api/documents/{id}/entries", Read, "A scratchpad's entries, newest first", entries)
            .asks("before", count())
            .asks("limit", whole(1, 500))
            .gives(200, list(open())),
        Route::get("/api/documents/{id}/versions", Read, "A document's versions, newest first", versions)
            .gives(200, list(open())),
        Route::get("/api/search", Read, "Full-text search over documents, tasks and projects", search)
            .asks("q", text())
            .asks("kind", one_of(["document", "task", "project"]))
            .asks("project_id", id())
            .asks("limit", whole(1, 200))
            .gives(200, list(open())),
        Route::get("/api/projects", Read, "The projects you may see", projects).gives(200, list(records::project())),
        Route::post("/api/projects", Run, "A new project, yours", create_project)
            .takes(form([("title", words(500))], [("description", text())]))
            .gives(201, records::project()),
        Route::post("/api/projects/{id}/members", Run, "Let someone see and change a project", grant)
            .takes(form([("actor", text())], []))
            .gives(200, records::actor()),
        Route::delete("/api/projects/{id}/members/{actor}", Run, "Take that back", revoke).gives(200, records::actor()),
        Route::get("/api/actors", Read, "People and subagents", actors).gives(200, list(records::actor())),
        Route::post("/api/actors", Admin, "A new person", create_actor)
            .takes(form([("handle", text())], [("name", nullable(text()))]))
            .gives(201, records::actor()),
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

async fn of_run(State(house): State<Arc<House>>, caller: Caller, Id(id): Id<RunId>) -> Answer<Json<Workspace>> {
    let run = caller.run(&house, id).await?;
    let scope = caller.scope();
    let documents = DocumentFilter { run_id: Some(id), limit: MANY, ..DocumentFilter::default() };
    let tasks = TaskFilter { run_id: Some(id), limit: MANY, ..TaskFilter::default() };
    Ok(Json(Workspace {
        workspace_document_id: run.workspace_document_id,
        documents: house.store.documents(&scope, documents).await?,
        tasks: house.store.tasks(&scope, tasks).await?,
        edges: house.store.edges(&scope, None, None, Some(id)).await?,
    }))
}

async fn visible(house: &House, caller: &Caller, id: DocumentId) -> Answer<Document> {
    house.store.document(&caller.scope(), id).await?.ok_or_else(|| Problem::not_found("document", id))
}

async fn document(State(house): State<Arc<House>>, caller: Caller, Id(id): Id<DocumentId>) -> Answer<Json<Document>> {
    visible(&house, &caller, id).await.map(Json)
}

#[derive(Deserialize)]
struct EntriesQuery {
    before: Option<i64>,
    limit: Option<usize>,
}

async fn entries(
    State(house): State<Arc<House>>,
    caller: Caller,
    Id(id): Id<DocumentId>,
    Asked(query): Asked<EntriesQuery>,
) -> Answer<Json<Vec<Entry>>> {
    visible(&house, &caller, id).await?;
    let limit = query.limit.unwrap_or(50).clamp(1, 500);
    Ok(Json(house.store.entries(&caller.scope(), id, query.before, limit).await?))
}

async fn versions(State(house): State<Arc<House>>, caller: Caller, Id(id): Id<DocumentId>) -> Answer<Json<Vec<Value>>> {
    visible(&house, &caller, id).await?;
    let versions = house.store.versions(&caller.scope(), id).await?;
    Ok(Json(versions.into_iter().map(version).collect()))
}

fn version(version: DocumentVersion) -> Value {
    let DocumentVersion { version, title, content, run_id, seq, at } = version;
    json!({"version": version, "title": title, "content": content, "run_id": run_id, "seq": seq, "at": at})
}

#[derive(Deserialize)]
struct SearchQuery {
    q: String,
    /// `document`, `task` or `project`.
    kind: Option<String>,
    project_id: Option<ProjectId>,
    limit: Option<usize>,
}

async fn search(
    State(house): State<Arc<House>>,
    caller: Caller,
    Asked(query): Asked<SearchQuery>,
) -> Answer<Json<Vec<Value>>> {
    let kinds = match query.kind.as_deref() {
        None => vec![HitKind::Document, HitKind::Task, HitKind::Project],
        Some("document") => vec![HitKind::Document],
        Some("task") => vec![HitKind::Task],
        Some("project") => vec![HitKind::Project],
        Some(other) => {
            return Err(Problem::invalid(
                "unknown_kind",
                format!("kind {other} does not exist; kind is one of document, task, project"),
            ));
        }
    };
    let limit = query.limit.unwrap_or(20).clamp(1, 200);
    let hits = house.store.search(&caller.scope(), &query.q, &kinds, query.project_id, limit).await?;
    Ok(Json(hits.into_iter().map(hit).collect()))
}

fn hit(hit: Hit) -> Value {
    let kind = match hit.kind {
        HitKind::Document => "document",
        HitKind::Task => "task",
        HitKind::Project => "project",
    };
    json!({"kind": kind, "id": hit.id, "project_id": hit.project_id, "title": hit.title, "excerpt": hit.excerpt})
}

async fn projects(State(house): State<Arc<House>>, caller: Caller) -> Answer<Json<Vec<Project>>> {
    Ok(Json(house.store.projects(&caller.scope(), MANY).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewProject {
    title: String,
    #[serde(default)]
    description: String,
}

async fn create_project(
    State(house): State<Arc<House>>,
    caller: Caller,
    Sent(new): Sent<NewProject>,
) -> Answer<(StatusCode, Json<Project>)> {
    house.desk()?;
    let title = titled(&new.title)?;
    let id: ProjectId = runs::mint(&house);
    let mutation = Mutation::CreateProject { id, title, description: new.description, owner: caller.id() };
    house.store.change(vec![Change { mutation, actor: caller.actor(), seq: 0 }]).await?;
    let project = house.store.project(&caller.scope(), id).await?.ok_or_else(|| Problem::not_found("project", id))?;
    Ok((StatusCode::CREATED, Json(project)))
}

fn titled(text: &str) -> Answer<String> {
    let title = text.trim();
    match title.chars().count() {
        1..=500 => Ok(title.to_owned()),
        n => Err(Problem::invalid("bad_title", format!("the title has {n} characters; it must have 1 to 500"))),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMember {
    actor: String,
}

async fn member(house: &House, caller: &Caller, project: ProjectId, name: &str) -> Answer<ActorRecord> {
    house.desk()?;
    house.store.project(&caller.scope(), project).await?.ok_or_else(|| Problem::not_found("project", project))?;
    house.store.actor(name).await?.ok_or_else(|| Problem::not_found("actor", name))
}

async fn grant(
    State(house): State<Arc<House>>,
    caller: Caller,
    Id(project): Id<ProjectId>,
    Sent(new): Sent<NewMember>,
) -> Answer<Json<ActorRecord>> {
    let actor = member(&house, &caller, project, &new.actor).await?;
    house.store.grant(project, actor.id).await?;
    Ok(Json(actor))
}

async fn revoke(
    State(house): State<Arc<House>>,
    caller: Caller,
    Path((project, name)): Path<(String, String)>,
) -> Answer<Json<ActorRecord>> {
    let project: ProjectId = project.parse().map_err(|_| Problem::not_found("project", &project))?;
    let actor = member(&house, &caller, project, &name).await?;
    match house.store.revoke(project, actor.id).await? {
        true => Ok(Json(actor)),
        false => Err(Problem::new(
            StatusCode::NOT_FOUND,
            "member_not_found",
            format!("{name} is not a member of project {project}; nothing was changed"),
        )),
    }
}

async fn actors(State(house): State<Arc<House>>, _caller: Caller) -> Answer<Json<Vec<ActorRecord>>> {
    Ok(Json(house.store.actors().await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewActor {
    handle: String,
    name: Option<String>,
}

async fn create_actor(
    State(house): State<Arc<House>>,
    _caller: Caller,
    Sent(new): Sent<NewActor>,
) -> Answer<(StatusCode, Json<ActorRecord>)> {
    house.desk()?;
    let handle = new.handle;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if handle.is_empty() || handle.len() > 64 || !handle.chars().all(fits) {
        let detail =
            format!("handle {handle:?} cannot be used; it must have 1 to 64 lower-case letters, digits and dashes");
        return Err(Problem::invalid("bad_handle", detail));
    }
    if house.store.actor(&handle).await?.is_some() {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "handle_taken",
            format!("there is already an actor {handle}; nothing was changed"),
        ));
    }
    let name = new.name.unwrap_or_else(|| handle.clone());
    let actor =
        ActorRecord { id: runs::mint(&house), kind: ActorKind::Person, handle, name, created_at: house.clock.now() };
    house.store.create_actor(actor.clone()).await?;
    Ok((StatusCode::CREATED, Json(actor)))
}
