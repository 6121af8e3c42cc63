//! Invitations to projects, for the person who is invited.

use super::prelude::*;
use engine::ids::InvitationId;
use store::members::Invitation;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/invitations", Read, "The projects you are invited to", list)
            .returns(200, page(schema()))
            .personal(),
        reply("/api/invitations/{id}/accept", "Become a member", Reply::Accept),
        reply("/api/invitations/{id}/decline", "Do not become one", Reply::Decline),
    ]
}

#[derive(Clone, Copy)]
enum Reply {
    Accept,
    Decline,
}

fn reply(path: &'static str, summary: &'static str, reply: Reply) -> Route {
    let handler = move |Context(app, caller): Context, Id(id): Id<InvitationId>| async move {
        settle(&app, &caller, id, reply).await
    };
    Route::post(path, Run, summary, handler).returns(200, schema()).personal()
}

fn schema() -> Schema {
    record! { "Invitation":
        id: id(), project_id: id(), project_title: text(), role: records::member_role(), invited_by: text(),
        created_at: time(), expires_at: time(),
    }
}

async fn list(Context(app, caller): Context) -> PageResult<Invitation> {
    let items = app.store.invitations(caller.id(), app.clock.now()).await?;
    Ok(Json(Page { items, next_cursor: None }))
}

/// The same for an invitation that never was, is somebody else's, or is settled.
fn not_open() -> Problem {
    Problem::not_found("invitation")
}

/// An invitation that expired or was settled between the two reads is answered like one that never was.
async fn settle(app: &AppState, caller: &Caller, id: InvitationId, reply: Reply) -> JsonResult<Invitation> {
    app.commands()?;
    let (actor, now) = (caller.id(), app.clock.now());
    let open = app.store.invitations(actor, now).await?;
    let invitation = open.into_iter().find(|invitation| invitation.id == id).ok_or_else(not_open)?;
    let settled = match reply {
        Reply::Accept => app.store.accept(actor, id, now).await?,
        Reply::Decline => app.store.decline(actor, id, now).await?,
    };
    settled.then_some(Json(invitation)).ok_or_else(not_open)
}
