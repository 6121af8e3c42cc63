//! Routes about the process: health, readiness, who holds the database, the API document; and the 404 and 405 of the router.

use super::prelude::*;
use super::{HolderView, openapi, table};
use crate::ui;
use axum::http::{HeaderMap, Method, Uri};
use runtime::ports::LOCAL_HANDLE;
use std::time::Duration;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/healthz", Access::Public, "The process is alive", healthy).returns_text(200, "text/plain"),
        Route::get("/readyz", Access::Public, "The database answers and has this version's schema", ready)
            .returns_text(200, "text/plain"),
        Route::get("/openapi.json", Access::Public, "This document", document).returns(200, open()),
        Route::get("/api/holder", Access::Read, "Which process answers, and what it drives", holder).returns(
            200,
            record! { "Holder":
                pid: count(), version: text(), drives: one_of(["nothing", "some", "all"]);
                url: nullable(text()),
            },
        ),
    ]
}

/// Load balancers wait about this long for an answer.
const READY_WITHIN: Duration = Duration::from_millis(1_500);

async fn healthy() -> &'static str {
    "ok\n"
}

/// A store opens only with the schema of this version, so an answer is proof enough.
async fn ready(State(app): State<Arc<AppState>>) -> ApiResult<&'static str> {
    let found = tokio::time::timeout(READY_WITHIN, app.store.actor(LOCAL_HANDLE)).await;
    let found = found.map_err(|_| unready("the database does not answer; try again in a moment"))?;
    match found? {
        Some(_) => Ok("ready\n"),
        None => Err(unready("the database is still being set up; try again in a moment")),
    }
}

fn unready(why: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", why)
}

async fn document(State(app): State<Arc<AppState>>) -> Response {
    let origin = &app.origin;
    let document = origin.document.get_or_init(|| openapi::document(&table(), origin.cookie()).to_string());
    ([(header::CONTENT_TYPE, "application/json")], document.clone()).into_response()
}

async fn holder(State(app): State<Arc<AppState>>) -> Json<HolderView> {
    Json(HolderView {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").into(),
        drives: app.drives,
        url: app.origin.url(),
    })
}

/// A path that is no route of the API may belong to the web page.
pub(super) async fn not_found(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    ui::answer(&method, &uri, &headers).unwrap_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "not_found", format!("there is no route or page at {}", uri.path()))
            .into_response()
    })
}

pub(super) async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        format!("{} does not support {method}; the Allow header lists what it supports", uri.path()),
    )
}
