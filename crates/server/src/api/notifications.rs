//! Routes for notifications: what runs reported to their owner, and which of them were read.

use super::prelude::*;
use super::query::BoolParameter;
use engine::ids::RunId;
use engine::time::Timestamp;
use store::notifications::{INVITATION_KIND, KINDS, Mark, Notice};

const MAX_MARKED: usize = 500;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/notifications", Read, "Notifications of your runs, newest first", list)
            .query("unread", BoolParameter::schema())
            .returns_page(text(), notice())
            .personal(),
        Route::post("/api/notifications/read", Run, "Mark notifications as read", read)
            .body(form([], [("ids", up_to(MAX_MARKED, text()))]))
            .returns(200, record([("unread", count())], []))
            .personal(),
    ]
}

pub(super) fn notice() -> Schema {
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

async fn list(Context(app, caller): Context, QueryString(query): QueryString<ListQuery>) -> PageResult<Notice> {
    let limit = page_limit(query.limit, 50);
    let after = query.cursor.map(|text| {
        parse_cursor(&text).ok_or_else(|| {
            Problem::invalid(
                "bad_cursor",
                format!("{text:?} is not a cursor of this list; use next_cursor of the previous page"),
            )
        })
    });
    let items = app.store.notices(caller.id(), query.unread.is_on(), after.transpose()?, limit).await?;
    Ok(Json(Page::full(items, limit, cursor)))
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

/// Without ids, all notifications are marked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadMarks {
    ids: Option<Vec<String>>,
}

async fn read(Context(app, caller): Context, JsonBody(marks): JsonBody<ReadMarks>) -> JsonResult<Value> {
    let ids = marks.ids.unwrap_or_default();
    if ids.len() > MAX_MARKED {
        return Err(Problem::invalid(
            "too_many",
            format!("{} ids were given; at most {MAX_MARKED} are allowed; nothing was marked", ids.len()),
        ));
    }
    // Ids that do not exist or belong to others are ignored.
    let which: Vec<(RunId, u64)> = ids.iter().filter_map(|id| parse_id(id)).collect();
    app.store.mark_read(caller.id(), (!ids.is_empty()).then_some(&which[..])).await?;
    Ok(Json(json!({"unread": app.store.unread(caller.id()).await?})))
}
