//! Routes for notifications: what runs reported to their owner, and which of them were read.

use super::caller::{Caller, JsonBody};
use super::problems::Problem;
use super::query::{BoolParameter, QueryString};
use super::route::Access::{Read, Run};
use super::route::Route;
use super::schema::{self, count, form, id, nullable, one_of, record, text, time, up_to, whole};
use super::{ApiResult, AppState, Page};
use axum::Json;
use axum::extract::State;
use engine::ids::RunId;
use engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::notifications::{INVITATION_KIND, KINDS, Mark, Notice};

const MAX_PAGE: usize = 200;
const MAX_MARKED: usize = 500;

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/notifications", Read, "What runs had to say to you", list)
            .asks("unread", BoolParameter::schema())
            .asks("cursor", text())
            .asks("limit", whole(1, MAX_PAGE as i64))
            .gives(200, schema::page(notice()))
            .personal(),
        Route::post("/api/notifications/read", Run, "Mark notifications as read", read)
            .takes(form([], [("ids", up_to(MAX_MARKED, text()))]))
            .gives(200, record([("unread", count())], []))
            .personal(),
    ]
}

pub fn notice() -> schema::Schema {
    record! { "Notification":
        id: text(), run_id: nullable(id()), seq: count(), owner: id(),
        kind: one_of(KINDS.into_iter().chain([INVITATION_KIND])), title: text(), body: text(),
        question_id: nullable(id()), invitation_id: nullable(id()), at: time(), read_at: nullable(time()),
    }
}

#[derive(Deserialize)]
struct ListQuery {
    #[serde(default)]
    unread: BoolParameter,
    cursor: Option<String>,
    limit: Option<usize>,
}

async fn list(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    QueryString(query): QueryString<ListQuery>,
) -> ApiResult<Json<Page<Notice>>> {
    let limit = query.limit.unwrap_or(50).clamp(1, MAX_PAGE);
    let after = query.cursor.map(|text| {
        parse_cursor(&text).ok_or_else(|| Problem::invalid("bad_cursor", format!("{text} is no cursor of this list")))
    });
    let items = app.store.notices(caller.id(), query.unread.is_on(), after.transpose()?, limit).await?;
    let next_cursor = items.last().filter(|_| items.len() == limit).map(cursor);
    Ok(Json(Page { items, next_cursor }))
}

fn cursor(notice: &Notice) -> String {
    format!("{}:{}", notice.at.0, notice.id)
}

fn parse_cursor(text: &str) -> Option<Mark> {
    let (at, id) = text.split_once(':')?;
    let (run_id, seq) = parse_id(id)?;
    Some(Mark { at: Timestamp(at.parse().ok()?), run_id, seq })
}

fn parse_id(text: &str) -> Option<(RunId, u64)> {
    let (run, seq) = text.split_once(':')?;
    Some((run.parse().ok()?, seq.parse().ok()?))
}

/// Without ids: all of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadMarks {
    ids: Option<Vec<String>>,
}

#[derive(Serialize)]
struct UnreadCount {
    unread: u64,
}

async fn read(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    JsonBody(marks): JsonBody<ReadMarks>,
) -> ApiResult<Json<UnreadCount>> {
    let ids = marks.ids.unwrap_or_default();
    if ids.len() > MAX_MARKED {
        return Err(Problem::invalid("too_many", format!("{} ids were given; at most {MAX_MARKED}", ids.len())));
    }
    // What is not theirs, or does not exist, cannot be marked and is not missed.
    let which: Vec<(RunId, u64)> = ids.iter().filter_map(|id| parse_id(id)).collect();
    app.store.mark_read(caller.id(), (!ids.is_empty()).then_some(&which[..])).await?;
    Ok(Json(UnreadCount { unread: app.store.unread(caller.id()).await? }))
}
