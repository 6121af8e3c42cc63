//! The pages over HTTP: the markdown twin of every project, document, task and run, `/whoami`, and their actions. What a
//! page shows and who may do what on it is decided in the crate `pages`, the same for subagents in a task run.

use super::commands;
use super::prelude::*;
use super::{process, version};
use crate::ui::accepts;
use ::pages::{ActionResult, Cause, Page, PagePath, PageSubject, Pages, Reader};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::Next;
use effects::tools::Registry;
use engine::effect::EffectId;
use runtime::ports::AppendError;

const MARKDOWN: &str = "text/markdown";
/// How often an action is tried when others change the same things.
const ATTEMPTS: usize = 4;

pub(super) fn routes() -> Vec<Route> {
    let page =
        |path, what| Route::get(path, Read, what, show).returns_text(200, MARKDOWN).errors([404]).errors_as_pages();
    let act = |path, what| {
        let route = Route::post(path, Run, what, execute).body(open()).returns_text(200, MARKDOWN).errors([404]);
        route.errors_as_pages().for_agents()
    };
    vec![
        page("/whoami", "Who you are, your projects, your actions and, for a subagent, its scratchpad"),
        page("/whoami.md", "The same"),
        page("/whoami/actions", "What you may do"),
        page("/whoami/actions/{name}", "An action of yours"),
        act("/whoami/actions/{name}", "Carry out an action of yours"),
        page("/projects", "Your projects as a page"),
        page("/projects.md", "The same"),
        page("/projects/actions", "What you may do to projects as a whole"),
        page("/projects/actions/{name}", "An action on projects as a whole"),
        act("/projects/actions/{name}", "Carry out an action on projects as a whole"),
        page("/runs", "Your runs as a page"),
        page("/runs.md", "The same"),
        page("/projects/{id}", "A project as a page"),
        page("/projects/{id}/actions", "What you may do to a project"),
        page("/projects/{id}/actions/{name}", "An action on a project"),
        act("/projects/{id}/actions/{name}", "Carry out an action on a project"),
        page("/documents/{id}", "A document as a page"),
        page("/documents/{id}/actions", "What you may do to a document"),
        page("/documents/{id}/actions/{name}", "An action on a document"),
        act("/documents/{id}/actions/{name}", "Carry out an action on a document"),
        page("/tasks/{id}", "A task as a page"),
        page("/tasks/{id}/actions", "What you may do to a task"),
        page("/tasks/{id}/actions/{name}", "An action on a task"),
        act("/tasks/{id}/actions/{name}", "Carry out an action on a task"),
        page("/runs/{id}", "A run as a page"),
        page("/runs/{id}/actions", "What you may tell a run"),
        page("/runs/{id}/actions/{name}", "An order to a run"),
        act("/runs/{id}/actions/{name}", "Tell a run"),
    ]
}

/// Paths that the web page has too.
const OF_WEB_PAGE: [&str; 3] = ["projects", "documents", "runs"];

/// Serves the web page to browsers where it and the markdown pages share a path.
pub(super) async fn for_browsers(request: Request, next: Next) -> Response {
    let place = request.uri().path().split('/').nth(1).is_some_and(|first| OF_WEB_PAGE.contains(&first));
    match place && request.method() == Method::GET && accepts(request.headers(), "text/html") {
        true => process::not_found(Method::GET, request.uri().clone(), request.headers().clone()).await,
        false => next.run(request).await,
    }
}

/// The reader of pages, with the scope of the token, which may be narrower than its actor's.
fn reader(caller: &Caller) -> Reader {
    let reader = match &caller.agent {
        Some(agent) => Reader::agent(agent.clone()),
        None => Reader::person(caller.record.clone()),
    };
    Reader { scope: caller.scope(), ..reader }
}

async fn show(Context(app, caller): Context, uri: Uri, headers: HeaderMap) -> ApiResult<Response> {
    let (reader, registry) = (reader(&caller), Registry::builtin());
    let path = uri.path_and_query().map_or(uri.path(), |path| path.as_str());
    let page = Pages { store: &*app.store, registry: &registry, reader: &reader }.open(path).await?;
    Ok(response(page, &headers))
}

async fn execute(
    Context(app, caller): Context,
    uri: Uri,
    headers: HeaderMap,
    JsonBody(params): JsonBody<Value>,
) -> ApiResult<Response> {
    let Some(PagePath::Action(subject, name)) = PagePath::parse(uri.path()) else {
        return Err(Problem::not_found("page"));
    };
    Ok(response(execute_action(&app, &caller, subject, &name, &params).await?, &headers))
}

/// Executes an action and commits its changes.
pub(super) async fn execute_action(
    app: &AppState,
    caller: &Caller,
    subject: PageSubject,
    name: &str,
    params: &Value,
) -> ApiResult<Page> {
    let (reader, registry) = (reader(caller), Registry::builtin());
    let pages = Pages { store: &*app.store, registry: &registry, reader: &reader };
    let run_id = app.mint();
    let effect = EffectId("page".into());
    for _ in 0..ATTEMPTS {
        let cause = Cause { run_id, effect: &effect, props: json!({}), now: app.clock.now() };
        let ActionResult { page, mutations, command } = pages.execute(subject, name, params, &cause).await?;
        if let Some((run, command)) = command {
            let _ = commands::run_command(app, caller, run, command).await?;
        }
        if mutations.is_empty() {
            return Ok(page);
        }
        app.commands()?;
        match app.store.change(version::changes(caller, mutations)).await {
            Ok(()) => return Ok(page),
            // Executed again on the newest versions.
            Err(AppendError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Problem::conflict("conflict", "others are changing the same thing; nothing was changed. Try again"))
}

fn response(page: Page, headers: &HeaderMap) -> Response {
    let status = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if !accepts(headers, "json") {
        return (status, [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], page.markdown()).into_response();
    }
    match page.is_ok() {
        true => (status, Json(page.json())).into_response(),
        false => problem(&page).into_response(),
    }
}

/// The problem that an error page stands for.
pub(super) fn problem(page: &Page) -> Problem {
    let error = page.facts.iter().find(|(name, _)| *name == "error").and_then(|(_, error)| error.as_str());
    let error = error.unwrap_or_default();
    let is_for_viewers = page.facts.iter().any(|(name, kind)| *name == "type" && kind == "viewer_only");
    match page.status {
        403 if is_for_viewers => Problem::forbidden("viewer_only", error),
        403 => Problem::forbidden("action_forbidden", error),
        404 if page.actions.is_empty() => Problem::missing("page", error),
        404 => Problem::missing("action", error),
        _ => Problem::invalid("action_refused", error),
    }
}
