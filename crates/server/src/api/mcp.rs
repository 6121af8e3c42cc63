//! `/mcp`: the same API for programs that speak MCP. Every action is a request of its own through the door the caller
//! came in by, so that scopes, ownership and pace are judged once, where they always are.

use super::door::Door;
use super::route::Access::Read;
use super::route::Route;
use super::shape::open;
use super::{Answer, House, router};
use crate::face::RunsFace;
use crate::link::Link;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::Response;
use std::net::SocketAddr;
use std::sync::Arc;

pub fn routes() -> Vec<Route> {
    vec![
        Route::post("/mcp", Read, "MCP over streamable HTTP, without sessions (2026-07-28 and 2025-11-25)", speak)
            .takes(open())
            .gives(200, open())
            .gives_nothing(202)
            .refuses([404, 405, 406]),
    ]
}

async fn speak(State(house): State<Arc<House>>, request: Request) -> Answer<Response> {
    let door = request.extensions().get::<Door>().copied().unwrap_or(Door::Open);
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().copied();
    let link = Link::on_behalf(router(house, door), request.headers(), peer);
    let response = mcp::server::answer(Arc::new(RunsFace::new(link, false)), request).await;
    Ok(response.map(Body::new))
}
