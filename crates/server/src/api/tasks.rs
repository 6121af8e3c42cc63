//! Routes for tasks, the things to be done in a project; a run of the kind `task` is in `runs`.

use super::documents::user_props;
use super::prelude::*;
use super::projects::{self, MAX_TITLE, checked_title};
use super::version::{self, IfMatch, versioned, write};
use engine::ids::{ProjectId, RunId, TaskId};
use engine::workspace::{Mutation, Task, TaskState};
use runtime::ports::TaskFilter;
use serde_json::Map;
use store::Removed;

pub(super) fn routes() -> Vec<Route> {
    const ONE: &str = "/api/tasks/{id}";
    let changed = || [("description", text()), ("state", records::task_state()), ("props", open())];
    let [description, state, props] = changed();
    vec![
        Route::get("/api/tasks", Read, "Tasks, newest first", list)
            .query("project_id", id())
            .query("state", records::task_state())
            .query("run_id", id())
            .returns_page(id(), records::task()),
        Route::post("/api/tasks", Run, "A new task", create)
            .body(form([("title", words(MAX_TITLE)), ("project_id", id())], changed()))
            .returns(201, records::task())
            .errors([404]),
        Route::get(ONE, Read, "A task", show).returns(200, records::task()),
        Route::patch(ONE, Run, "Change a task; props are merged key by key", edit)
            .header("If-Match", version::schema())
            .body(form([], [("title", words(MAX_TITLE)), description, state, props]))
            .returns(200, records::task())
            .errors([412, 428]),
        Route::delete(ONE, Run, "Remove a task", remove).returns_empty(204),
    ]
}

async fn visible(app: &AppState, caller: &Caller, id: TaskId) -> ApiResult<Task> {
    app.store.task(&caller.scope(), id).await?.ok_or_else(|| Problem::not_found("task"))
}

async fn shown(app: &AppState, caller: &Caller, id: TaskId, status: StatusCode) -> ApiResult<Response> {
    let task = visible(app, caller, id).await?;
    Ok(versioned(status, task.version, task))
}

/// A task that this caller may change.
async fn writable(app: &AppState, caller: &Caller, id: TaskId) -> ApiResult<Task> {
    let task = visible(app, caller, id).await?;
    access::may_write(app, caller, task.project_id).await?;
    Ok(task)
}

#[derive(Deserialize)]
struct ListQuery {
    project_id: Option<ProjectId>,
    state: Option<TaskState>,
    run_id: Option<RunId>,
    cursor: Option<TaskId>,
    limit: Option<usize>,
}

async fn list(Context(app, caller): Context, QueryString(query): QueryString<ListQuery>) -> PageResult<Task> {
    let limit = page_limit(query.limit, 50);
    let filter = TaskFilter {
        project_id: query.project_id,
        state: query.state,
        run_id: query.run_id,
        before: query.cursor,
        limit: limit + 1,
    };
    let found = app.store.tasks(&caller.scope(), filter).await?;
    Ok(Json(Page::cut(found, limit, |task| task.id.to_string())))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTask {
    title: String,
    project_id: ProjectId,
    #[serde(default)]
    description: String,
    #[serde(default = "todo")]
    state: TaskState,
    #[serde(default)]
    props: Map<String, Value>,
}

fn todo() -> TaskState {
    TaskState::Todo
}

async fn create(Context(app, caller): Context, JsonBody(new): JsonBody<NewTask>) -> ApiResult<Response> {
    let project_id = projects::with_space(&app, &caller, new.project_id).await?.id;
    let id: TaskId = app.mint();
    let mutation = Mutation::CreateTask {
        id,
        project_id,
        title: checked_title(&new.title)?,
        description: new.description,
        state: new.state,
        props: Value::Object(user_props(new.props)?),
    };
    write(&app, &caller, vec![mutation]).await?;
    shown(&app, &caller, id, StatusCode::CREATED).await
}

async fn show(Context(app, caller): Context, Id(id): Id<TaskId>) -> ApiResult<Response> {
    shown(&app, &caller, id, StatusCode::OK).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskPatch {
    title: Option<String>,
    description: Option<String>,
    state: Option<TaskState>,
    props: Option<Map<String, Value>>,
}

async fn edit(
    Context(app, caller): Context,
    Id(id): Id<TaskId>,
    expected: IfMatch,
    JsonBody(patch): JsonBody<TaskPatch>,
) -> ApiResult<Response> {
    let task = writable(&app, &caller, id).await?;
    expected.check(task.version)?;
    let mutation = Mutation::UpdateTask {
        id,
        expected_version: task.version,
        title: patch.title.as_deref().map(checked_title).transpose()?,
        description: patch.description,
        state: patch.state,
        props: patch.props.map(user_props).transpose()?.map(Value::Object),
    };
    write(&app, &caller, vec![mutation]).await?;
    shown(&app, &caller, id, StatusCode::OK).await
}

async fn remove(Context(app, caller): Context, Id(id): Id<TaskId>) -> ApiResult<StatusCode> {
    app.commands()?;
    writable(&app, &caller, id).await?;
    match app.store.remove_task(id).await? {
        Removed::Done => Ok(StatusCode::NO_CONTENT),
        _ => Err(Problem::not_found("task")),
    }
}
