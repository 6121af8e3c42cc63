//! `/mcp`: the API for programs that speak MCP. Every action becomes a request to our own router with the caller's credentials,
//! so that scopes, ownership and rate limits are checked in one place.

use super::auth::RequestSource;
use super::caller::read_body;
use super::prelude::*;
use super::router;
use crate::api_client::ApiClient;
use crate::mcp_tools::RunTools;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use std::net::SocketAddr;

/// Characters of the library's message that are repeated.
const MAX_MESSAGE: usize = 500;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/mcp", Read, "MCP over streamable HTTP, without sessions (2026-07-28 and 2025-11-25)", handle)
            .body(open())
            .returns(200, open())
            .returns_empty(202)
            .errors([404, 405, 406]),
    ]
}

async fn handle(State(app): State<Arc<AppState>>, request: Request) -> ApiResult<Response> {
    let source = request.extensions().get::<RequestSource>().copied().unwrap_or(RequestSource::Open);
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().copied();
    let client = ApiClient::on_behalf(router(app, source), request.headers(), peer);
    let response = mcp::server::answer(Arc::new(RunTools::new(client, false)), request).await;
    as_problem(response.map(Body::new)).await
}

/// The library answers malformed requests in plain text; that becomes a problem like every other.
async fn as_problem(response: Response) -> ApiResult<Response> {
    let status = response.status();
    let media = response.headers().get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    if status.is_success() || media.starts_with("application/json") || media.starts_with("text/event-stream") {
        return Ok(response);
    }
    let text = read_body(response.into_body()).await?;
    let text = String::from_utf8_lossy(&text).trim().chars().take(MAX_MESSAGE).collect::<String>();
    let detail = format!("this MCP request cannot be answered: {text}; nothing was changed");
    Err(Problem { status, slug: "mcp_refused".into(), detail, retry_after: None, member: None })
}
