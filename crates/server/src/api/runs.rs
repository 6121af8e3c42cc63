//! Routes for runs: start, list, read, delete.

use super::brief::{self, NewRun};
use super::prelude::*;
use super::{agents, auth, criteria, running, tree_parts};
use engine::batch::{IterationRow, RunRow, StepRow};
use engine::ids::RunId;
use engine::run::{Kind, Status};
use runtime::ports::RunFilter;
use store::Removed;

const MAX_ITERATIONS_PER_RESPONSE: usize = 10_000;

pub(super) fn routes() -> Vec<Route> {
    const ONE: &str = "/api/runs/{id}";
    vec![
        Route::get("/api/runs", Read, "Runs, newest first, without nodes", list)
            .query("kind", records::kind())
            .query("status", records::status())
            .query("agent", text())
            .query("q", text())
            .returns_page(id(), records::run())
            .errors([404]),
        Route::post("/api/runs", Run, "Start a run", create)
            .rate_limited()
            .body(brief::schema())
            .returns(201, records::run())
            .returns(200, records::run())
            .errors([404]),
        Route::get(ONE, Read, "A run with metrics, budgets, plan and questions", show).returns(200, records::run()),
        Route::delete(ONE, Run, "Remove a run that has ended, with its log; what it made for people stays", remove)
            .returns_empty(204),
        Route::get("/api/runs/{id}/iterations", Read, "Its iterations with what each made", iterations)
            .query("after", count())
            .query("limit", whole(1, MAX_ITERATIONS_PER_RESPONSE as i64))
            .returns(200, list_of(records::run_schemas::iteration())),
        Route::get("/api/runs/{id}/steps", Read, "The steps of a task, with what came of each", steps)
            .returns(200, list_of(records::run_schemas::task_step())),
        Route::get("/api/runs/{id}/steps/{step}/page", Read, "What a step was shown, as markdown", step_page)
            .returns_text(200, "text/markdown"),
        Route::get("/api/runs/{id}/report", Read, "Its report, once it ended", report)
            .returns(200, records::run_schemas::report()),
        Route::get("/api/runs/{id}/report.md", Read, "The report as markdown", report_markdown)
            .returns_text(200, "text/markdown"),
    ]
}

/// The client may choose the id, so that a repeated request returns the run that exists.
async fn create(Context(app, caller): Context, JsonBody(new): JsonBody<NewRun>) -> ApiResult<Response> {
    let id = new.id.unwrap_or_else(|| app.mint());
    if id.0.get_version_num() != 7 {
        return Err(Problem::invalid(
            "invalid_id",
            format!("id {id} is not a UUIDv7; no run was made. Leave it out, and one is chosen"),
        ));
    }
    if let Some(existing) = app.store.run(&caller.scope(), id).await? {
        if existing.objective != new.objective.trim() || existing.kind.name() != new.kind {
            let detail =
                format!("run {id} exists with another objective or kind; nothing was changed. Leave the id out");
            return Err(Problem::conflict("id_taken", detail));
        }
        return Ok(Json(existing).into_response());
    }
    let brief = brief::build(&app, &caller, id, new).await?;
    let row = app.commands()?.create(id, brief, caller.actor()).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, format!("/api/runs/{id}"))], Json(row)).into_response())
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

async fn list(Context(app, caller): Context, QueryString(query): QueryString<ListQuery>) -> PageResult<RunRow> {
    let limit = page_limit(query.limit, 50);
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
        kind: non_empty(query.kind).map(|word| by_name("kind", &word, &Kind::ALL, Kind::name)).transpose()?,
        status: non_empty(query.status).map(|word| by_name("status", &word, &Status::ALL, Status::name)).transpose()?,
        text: non_empty(query.q),
        asking: false,
        before: query.cursor,
        limit,
    };
    let mut items = app.store.runs(&caller.scope(), filter).await?;
    criteria::mark_stale(&app, &mut items).await?;
    Ok(Json(Page::full(items, limit, |run| run.id.to_string())))
}

/// HTML forms send empty fields too; they count as absent.
fn non_empty(word: Option<String>) -> Option<String> {
    word.filter(|word| !word.trim().is_empty())
}

/// The item of this name, or a problem that lists the names.
pub(super) fn by_name<T: Copy>(what: &str, word: &str, all: &[T], name: impl Fn(T) -> &'static str) -> ApiResult<T> {
    all.iter().copied().find(|item| name(*item) == word).ok_or_else(|| {
        let valid: Vec<&str> = all.iter().map(|item| name(*item)).collect();
        Problem::invalid("unknown_word", format!("{what} {word} does not exist; {what} is one of {}", valid.join(", ")))
    })
}

async fn show(Context(app, caller): Context, Id(id): Id<RunId>) -> JsonResult<RunRow> {
    let mut run = caller.run(&app, id).await?;
    criteria::mark_stale(&app, [&mut run]).await?;
    let run = tree_parts::with_tree_parts(&app, &caller, run).await?;
    Ok(Json(running::up_to_now(&app, run).await?))
}

/// Only the owner of a run may remove it; members of its projects may not.
async fn remove(Context(app, caller): Context, Id(id): Id<RunId>) -> ApiResult<StatusCode> {
    app.commands()?;
    if caller.run(&app, id).await?.owner != caller.id() {
        return Err(Problem::forbidden("owner_only", "only the owner of a run can remove it; nothing was changed"));
    }
    match app.store.remove_run(id).await? {
        Removed::Done => {
            app.live.forget(id);
            Ok(StatusCode::NO_CONTENT)
        }
        Removed::Gone => Err(Problem::not_found("run")),
        Removed::Needed => {
            Err(Problem::conflict("run_not_ended", "the run has not ended; nothing was removed. Cancel it first"))
        }
    }
}

#[derive(Deserialize)]
struct IterationsQuery {
    /// Only later iterations.
    after: Option<u32>,
    limit: Option<usize>,
}

async fn iterations(
    Context(app, caller): Context,
    Id(id): Id<RunId>,
    QueryString(query): QueryString<IterationsQuery>,
) -> JsonResult<Vec<IterationRow>> {
    let run = caller.run(&app, id).await?;
    let limit = query.limit.unwrap_or(MAX_ITERATIONS_PER_RESPONSE).clamp(1, MAX_ITERATIONS_PER_RESPONSE);
    let rows = app.store.iterations(&caller.scope(), id, Slice { after: query.after, limit }).await?;
    Ok(Json(running::iterations_up_to_now(&app, &run, rows).await?))
}

async fn steps(Context(app, caller): Context, Id(id): Id<RunId>) -> JsonResult<Vec<StepRow>> {
    caller.run(&app, id).await?;
    Ok(Json(app.store.steps(&caller.scope(), id).await?))
}

/// The page is stored as a JSON string and returned as its text.
async fn step_page(
    Context(app, caller): Context,
    Path((run, step)): Path<(String, String)>,
) -> ApiResult<impl IntoResponse> {
    let run: RunId = run.parse().map_err(|_| Problem::not_found("run"))?;
    caller.run(&app, run).await?;
    let steps = app.store.steps(&caller.scope(), run).await?;
    let shown = steps.iter().find(|row| row.step.to_string() == step).and_then(|row| row.result);
    let result = shown.ok_or_else(|| Problem::not_found("step"))?;
    let stored = app.store.blobs(&[result.hash]).await?.pop().unwrap_or_default();
    let text = serde_json::from_str::<String>(&stored).unwrap_or(stored);
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text))
}

async fn report(Context(app, caller): Context, Id(id): Id<RunId>) -> JsonResult<Value> {
    Ok(Json(with_report(&app, &caller, id).await?.report))
}

async fn report_markdown(Context(app, caller): Context, Id(id): Id<RunId>) -> ApiResult<impl IntoResponse> {
    let run = with_report(&app, &caller, id).await?;
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], engine::report::markdown(&run.report)))
}

async fn with_report(app: &AppState, caller: &Caller, id: RunId) -> ApiResult<RunRow> {
    let mut run = caller.run(app, id).await?;
    if run.report.is_null() {
        let status = run.status.name();
        let detail = format!("run {id} has no report yet, because it is {status}; a report is written when a run ends");
        return Err(Problem::missing("report", detail));
    }
    criteria::mark_stale(app, [&mut run]).await?;
    engine::report::refresh(&mut run);
    if let Some(hash) = engine::report::main_text(&run.report) {
        let stored = app.store.blobs(&[hash]).await?.pop().unwrap_or_default();
        engine::report::show_main_text(&mut run.report, &stored);
    }
    Ok(run)
}
