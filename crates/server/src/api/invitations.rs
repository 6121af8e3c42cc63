//! Invitations to projects, for the person who is invited.

use super::caller::{Caller, Id};
use super::problems::Problem;
use super::route::Access::{Read, Run};
use super::route::Route;
use super::schema::{Schema, id, page, text, time};
use super::{ApiResult, AppState, Page, records};
use axum::Json;
use axum::extract::State;
use engine::ids::InvitationId;
use std::sync::Arc;
use store::members::Invitation;

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/invitations", Read, "The projects you are invited to", list)
            .gives(200, page(schema()))
            .personal(),
        Route::post("/api/invitations/{id}/accept", Run, "Become a member", accept).gives(200, schema()).personal(),
        Route::post("/api/invitations/{id}/decline", Run, "Do not become one", decline).gives(200, schema()).personal(),
    ]
}

fn schema() -> Schema {
    record! { "Invitation":
        id: id(), project_id: id(), project_title: text(), role: records::member_role(), invited_by: text(),
        created_at: time(), expires_at: time(),
    }
}

async fn list(State(app): State<Arc<AppState>>, caller: Caller) -> ApiResult<Json<Page<Invitation>>> {
    let items = app.store.invitations(caller.id(), app.clock.now()).await?;
    Ok(Json(Page { items, next_cursor: None }))
}

async fn open(app: &AppState, caller: &Caller, id: InvitationId) -> ApiResult<Invitation> {
    let mine = app.store.invitations(caller.id(), app.clock.now()).await?;
    mine.into_iter().find(|invitation| invitation.id == id).ok_or_else(gone)
}

/// The same for one that never was, is another's, or is settled.
fn gone() -> Problem {
    Problem::not_found("invitation")
}

async fn accept(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<InvitationId>,
) -> ApiResult<Json<Invitation>> {
    app.commands()?;
    let invitation = open(&app, &caller, id).await?;
    match app.store.accept(caller.id(), id, app.clock.now()).await? {
        true => Ok(Json(invitation)),
        false => Err(gone()),
    }
}

async fn decline(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<InvitationId>,
) -> ApiResult<Json<Invitation>> {
    app.commands()?;
    let invitation = open(&app, &caller, id).await?;
    match app.store.decline(caller.id(), id, app.clock.now()).await? {
        true => Ok(Json(invitation)),
        false => Err(gone()),
    }
}
