//! Routes for actors (the people and subagents that the caller may know of), and for the models a run can use.

use super::prelude::*;
use engine::actor::ActorKind;
use engine::ids::ActorId;
use engine::workspace::ActorRecord;

pub(super) fn routes() -> Vec<Route> {
    let model = record! { "Model":
        name: text(), provider: text(), model: text(), context_window: count(), max_output: count(),
        profiles: list_of(one_of(["fast", "balanced", "powerful"]));
        price: open(),
    };
    vec![
        Route::get(
            "/api/actors",
            Read,
            "Yourself, your subagents, and people you share a project or an invitation with; everybody for an admin",
            list,
        )
        .returns_page(id(), records::actor())
        .personal(),
        Route::post("/api/actors", Admin, "A new person", create)
            .body(form([("handle", text())], [("name", nullable(text()))]))
            .returns(201, records::actor()),
        Route::get("/api/models", Read, "Models that are set up; any other of a provider may be named too", models)
            .returns(200, page(model)),
    ]
}

async fn list(
    Context(app, caller): Context,
    QueryString(query): QueryString<PageQuery<ActorId>>,
) -> PageResult<ActorRecord> {
    let (limit, slice) = query.slice(MAX_PAGE);
    let known = match caller.is_admin() {
        true => app.store.actors(slice).await?,
        false => app.store.acquaintances(caller.id(), slice, app.clock.now()).await?,
    };
    Ok(Json(Page::cut(known, limit, |actor| actor.id.to_string())))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewActor {
    handle: String,
    name: Option<String>,
}

async fn create(
    State(app): State<Arc<AppState>>,
    _caller: Caller,
    JsonBody(new): JsonBody<NewActor>,
) -> ApiResult<(StatusCode, Json<ActorRecord>)> {
    app.commands()?;
    let handle = free_handle(&app, new.handle).await?;
    let name = new.name.unwrap_or_else(|| handle.clone());
    let actor = ActorRecord { id: app.mint(), kind: ActorKind::Person, handle, name, created_at: app.clock.now() };
    app.store.create_actor(actor.clone()).await?;
    Ok((StatusCode::CREATED, Json(actor)))
}

/// Checks that a handle is well formed and not taken.
pub(super) async fn free_handle(app: &AppState, handle: String) -> ApiResult<String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if handle.is_empty() || handle.len() > 64 || !handle.chars().all(fits) {
        return Err(Problem::invalid(
            "bad_handle",
            format!("handle {handle:?} cannot be used; a handle has 1 to 64 lower-case letters, digits and dashes"),
        ));
    }
    if app.store.actor(&handle).await?.is_some() {
        return Err(Problem::conflict(
            "handle_taken",
            format!("the handle {handle} is taken; nothing was changed. Choose another"),
        ));
    }
    Ok(handle)
}

async fn models(State(app): State<Arc<AppState>>, _caller: Caller) -> Json<Page<Value>> {
    Json(Page { items: app.catalogue.offered().await, next_cursor: None })
}
