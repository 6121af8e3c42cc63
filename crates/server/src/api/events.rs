//! The route that pages through a run's log.

use super::prelude::*;
use super::query::AfterQuery;
use engine::ids::RunId;
use runtime::ports::Log;

const PAGE: usize = 256;
const MAX_PAGE: usize = 1_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/runs/{id}/events", Read, "A page of the log", list)
            .query("after", count())
            .query("limit", whole(1, MAX_PAGE as i64))
            .returns(200, page(records::event())),
    ]
}

async fn list(
    Context(app, caller): Context,
    Id(id): Id<RunId>,
    QueryString(query): QueryString<AfterQuery>,
) -> ApiResult<impl IntoResponse> {
    // Not found unless the caller may see the run.
    caller.run(&app, id).await?;
    let limit = query.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let events = app.store.events(id, query.after, limit).await?;
    let next = if events.len() == limit { events.last().map(|event| event.seq) } else { None };
    let next = next.map_or_else(|| "null".to_owned(), |seq| format!("\"{seq}\""));
    let mut body = String::from("{\"items\":[");
    for (index, event) in events.iter().enumerate() {
        body.push_str(if index == 0 { "" } else { "," });
        event.write_json(&mut body);
    }
    body.push_str(&format!("],\"next_cursor\":{next}}}"));
    Ok(([(header::CONTENT_TYPE, "application/json")], body))
}
