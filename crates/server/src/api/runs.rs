//! Routes for runs: start, list, read, delete.

use super::brief::{self, NewRun};
use super::caller::{Caller, Id, JsonBody};
use super::problems::Problem;
use super::query::QueryString;
use super::route::Access::{Read, Run};
use super::route::Route;
use super::schema::{count, id, list as list_of, page, text, whole};
use super::{ApiResult, AppState, Page, agents, auth, records};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::batch::{IterationRow, RunRow, StepRow};
use engine::ids::{self, RunId};
use engine::run::{Kind, Status};
use runtime::ports::{Library, RunFilter, Slice};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use store::Removed;

const MAX_PAGE: usize = 200;
const MOST_ITERATIONS: usize = 10_000;

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/runs", Read, "Runs, newest first, without nodes", list)
            .asks("kind", records::kind())
            .asks("status", records::status())
            .asks("agent", text())
            .asks("q", text())
            .asks("cursor", id())
            .asks("limit", whole(1, MAX_PAGE as i64))
            .gives(200, page(records::run()))
            .refuses([404]),
        Route::post("/api/runs", Run, "Start a run", create)
            .paced()
            .takes(brief::schema())
            .gives(201, records::run())
            .gives(200, records::run())
            .refuses([404]),
        Route::get("/api/runs/{id}", Read, "A run with metrics, budgets, plan and questions", show)
            .gives(200, records::run()),
        Route::delete(
            "/api/runs/{id}",
            Run,
            "Remove a run that has ended, with its log; what it made for people stays",
            remove,
        )
        .gives_nothing(204),
        Route::get("/api/runs/{id}/iterations", Read, "Its iterations with what each made", iterations)
            .asks("after", count())
            .asks("limit", whole(1, MOST_ITERATIONS as i64))
            .gives(200, list_of(records::run_schemas::iteration())),
        Route::get("/api/runs/{id}/steps", Read, "The steps of a task, with what came of each", steps)
            .gives(200, list_of(records::run_schemas::task_step())),
        Route::get("/api/runs/{id}/steps/{step}/page", Read, "What a step was shown, as markdown", step_page)
            .gives_text(200, "text/markdown"),
        Route::get("/api/runs/{id}/report", Read, "Its report, once it ended", report)
            .gives(200, records::run_schemas::report()),
        Route::get("/api/runs/{id}/report.md", Read, "The report as markdown", report_markdown)
            .gives_text(200, "text/markdown"),
    ]
}

/// A fresh id, or the one the client chose; asking again for that one shows the run that exists.
async fn create(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    JsonBody(new): JsonBody<NewRun>,
) -> ApiResult<Response> {
    let id = new.id.unwrap_or_else(|| mint(&app));
    if id.0.get_version_num() != 7 {
        return Err(Problem::invalid("invalid_id", format!("id {id} is not a UUIDv7; leave it out and one is chosen")));
    }
    if let Some(existing) = app.store.run(&caller.scope(), id).await? {
        if existing.objective != new.objective.trim() || existing.kind.name() != new.kind {
            let detail = format!("run {id} exists and has another objective; nothing was changed. Leave the id out");
            return Err(Problem::new(StatusCode::CONFLICT, "id_taken", detail));
        }
        return Ok(Json(existing).into_response());
    }
    let brief = brief::draw_up(&app, &caller, id, new).await?;
    let row = app.commands()?.create(id, brief, caller.actor()).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, format!("/api/runs/{id}"))], Json(row)).into_response())
}

/// A time-ordered id that nobody can guess.
pub fn mint<T: From<uuid::Uuid>>(app: &AppState) -> T {
    ids::derive(app.clock.now(), &[&rand::random::<[u8; 16]>()]).into()
}

#[derive(Deserialize)]
struct ListQuery {
    kind: Option<String>,
    status: Option<String>,
    agent: Option<String>,
    q: Option<String>,
    cursor: Option<RunId>,
    limit: Option<usize>,
}

async fn list(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    QueryString(query): QueryString<ListQuery>,
) -> ApiResult<Json<Page<RunRow>>> {
    let limit = query.limit.unwrap_or(50).clamp(1, MAX_PAGE);
    let agent = match &query.agent {
        Some(_) if !caller.bounds().is_empty() => return Err(auth::bound()),
        Some(name) => Some(agents::owned(&app, &caller, name).await?.id),
        None => None,
    };
    if let Some(why) = query.q.as_deref().and_then(runtime::search_terms::too_many) {
        return Err(Problem::invalid("too_many_words", why));
    }
    let filter = RunFilter {
        agent,
        kind: given(query.kind).map(|word| known("kind", &word, &Kind::ALL, Kind::name)).transpose()?,
        status: given(query.status).map(|word| known("status", &word, &Status::ALL, Status::name)).transpose()?,
        text: given(query.q),
        asking: false,
        before: query.cursor,
        limit,
    };
    let items = app.store.runs(&caller.scope(), filter).await?;
    let next_cursor = items.last().filter(|_| items.len() == limit).map(|run| run.id.to_string());
    Ok(Json(Page { items, next_cursor }))
}

/// A form sends what was left empty, too.
fn given(word: Option<String>) -> Option<String> {
    word.filter(|word| !word.trim().is_empty())
}

pub fn known<T: Copy>(what: &str, word: &str, all: &[T], name: impl Fn(T) -> &'static str) -> ApiResult<T> {
    all.iter().copied().find(|item| name(*item) == word).ok_or_else(|| {
        let valid: Vec<&str> = all.iter().map(|item| name(*item)).collect();
        Problem::invalid("unknown_word", format!("{what} {word} does not exist; {what} is one of {}", valid.join(", ")))
    })
}

async fn show(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<RunId>) -> ApiResult<Json<RunRow>> {
    caller.run(&app, id).await.map(Json)
}

/// Whoever may see a run may not therefore remove it.
async fn remove(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<RunId>) -> ApiResult<StatusCode> {
    app.commands()?;
    if caller.run(&app, id).await?.owner != caller.id() {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "owner_only",
            "only its owner removes a run; nothing was changed",
        ));
    }
    match app.store.remove_run(id).await? {
        Removed::Done => {
            app.live.forget(id);
            Ok(StatusCode::NO_CONTENT)
        }
        Removed::Gone => Err(Problem::not_found("run")),
        Removed::Needed => Err(Problem::new(
            StatusCode::CONFLICT,
            "run_not_ended",
            "the run has not ended; nothing was removed. Cancel it first",
        )),
    }
}

#[derive(Deserialize)]
struct IterationsQuery {
    /// Only those behind this one.
    after: Option<u32>,
    limit: Option<usize>,
}

async fn iterations(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<RunId>,
    QueryString(query): QueryString<IterationsQuery>,
) -> ApiResult<Json<Vec<IterationRow>>> {
    caller.run(&app, id).await?;
    let limit = query.limit.unwrap_or(MOST_ITERATIONS).clamp(1, MOST_ITERATIONS);
    Ok(Json(app.store.iterations(&caller.scope(), id, Slice { after: query.after, limit }).await?))
}

async fn steps(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<RunId>) -> ApiResult<Json<Vec<StepRow>>> {
    caller.run(&app, id).await?;
    Ok(Json(app.store.steps(&caller.scope(), id).await?))
}

/// Kept as one JSON value; shown as the text it is.
async fn step_page(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Path((run, step)): Path<(String, String)>,
) -> ApiResult<impl IntoResponse> {
    let run: RunId = run.parse().map_err(|_| Problem::not_found("run"))?;
    caller.run(&app, run).await?;
    let steps = app.store.steps(&caller.scope(), run).await?;
    let known = steps.iter().find(|row| row.step.to_string() == step).and_then(|row| row.result);
    let result = known.ok_or_else(|| Problem::not_found("step"))?;
    let stored = app.store.blobs(&[result.hash]).await?.pop().unwrap_or_default();
    let text = serde_json::from_str::<String>(&stored).unwrap_or(stored);
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text))
}

async fn report(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<RunId>) -> ApiResult<Json<Value>> {
    Ok(Json(reported(&app, &caller, id).await?.report))
}

async fn report_markdown(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<RunId>,
) -> ApiResult<impl IntoResponse> {
    let run = reported(&app, &caller, id).await?;
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], engine::projection::report_markdown(&run.report)))
}

async fn reported(app: &AppState, caller: &Caller, id: RunId) -> ApiResult<RunRow> {
    let run = caller.run(app, id).await?;
    match run.report.is_null() {
        true => Err(Problem::new(
            StatusCode::NOT_FOUND,
            "report_not_found",
            format!("run {id} has no report yet: it is {}. A report is made when a run ends.", run.status.name()),
        )),
        false => Ok(run),
    }
}
