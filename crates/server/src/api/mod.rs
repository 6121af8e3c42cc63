//! The HTTP API of the process that holds the database. Handlers translate; what a run may do is decided
//! by the engine, what an actor may see by the store.

mod brief;
mod caller;
mod commands;
mod events;
mod inbox;
mod nodes;
pub mod problems;
mod runs;
mod workspace;

pub use brief::NewRun;
pub use commands::{Continuation, GivenAnswer, Message, Resolution, Response};
pub use nodes::NodeView;
pub use workspace::Workspace;

use crate::catalogue::Catalogue;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{delete, get, patch, post};
use problems::Problem;
use runtime::ports::{Clock, Store};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const MAX_BODY: usize = 1 << 20;

/// What every handler may use.
pub struct House {
    pub store: Arc<dyn Store>,
    /// Absent where the database is only read.
    pub desk: Option<runtime::Desk>,
    pub catalogue: Arc<Catalogue>,
    pub clock: Arc<dyn Clock>,
    pub drives: Drives,
}

/// What this process takes on by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drives {
    Nothing,
    /// Those it was asked for.
    Some,
    /// Every run of the database.
    All,
}

/// Who answers here.
#[derive(Debug, Serialize, Deserialize)]
pub struct HolderView {
    pub pid: u32,
    pub version: String,
    pub drives: Drives,
}

/// A part of a list, and where the next part starts.
#[derive(Debug, Serialize, Deserialize)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
}

type Answer<T> = Result<T, Problem>;

impl House {
    /// The desk, or a refusal where this process only reads.
    fn desk(&self) -> Answer<&runtime::Desk> {
        let read_only =
            || Problem::new(axum::http::StatusCode::CONFLICT, "read_only", "this process only reads the database");
        self.desk.as_ref().ok_or_else(read_only)
    }
}

pub fn router(house: Arc<House>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/api/holder", get(runs::holder))
        .route("/api/runs", get(runs::list).post(runs::create))
        .route("/api/runs/{id}", get(runs::show))
        .route("/api/runs/{id}/iterations", get(runs::iterations))
        .route("/api/runs/{id}/report", get(runs::report))
        .route("/api/runs/{id}/report.md", get(runs::report_markdown))
        .route("/api/runs/{id}/workspace", get(workspace::of_run))
        .route("/api/runs/{id}/events", get(events::page))
        .route("/api/runs/{id}/stream", get(events::stream))
        .route("/api/runs/{id}/cancel", post(commands::cancel))
        .route("/api/runs/{id}/pause", post(commands::pause))
        .route("/api/runs/{id}/resume", post(commands::resume))
        .route("/api/runs/{id}/respond", post(commands::respond))
        .route("/api/runs/{id}/continue", post(commands::go_on))
        .route("/api/runs/{id}/messages", post(commands::say))
        .route("/api/runs/{id}/budgets", patch(commands::set_budgets))
        .route("/api/runs/{id}/effects/{effect}", post(commands::resolve))
        .route("/api/runs/{id}/drive", post(commands::drive))
        .route("/api/runs/{id}/nodes", get(nodes::list))
        .route("/api/runs/{id}/nodes/{node}", get(nodes::show))
        .route("/api/runs/{id}/nodes/{node}/events", get(nodes::timeline))
        .route("/api/runs/{id}/nodes/{node}/cancel", post(nodes::cancel))
        .route("/api/runs/{id}/nodes/{node}/retry", post(nodes::retry))
        .route("/api/runs/{id}/nodes/{node}/pause", post(nodes::pause))
        .route("/api/runs/{id}/nodes/{node}/resume", post(nodes::resume))
        .route("/api/runs/{id}/plans", get(nodes::plans))
        .route("/api/runs/{id}/artifacts", get(nodes::artifacts))
        .route("/api/questions", get(inbox::questions))
        .route("/api/projects", get(workspace::projects).post(workspace::create_project))
        .route("/api/projects/{id}/members", post(workspace::grant))
        .route("/api/projects/{id}/members/{actor}", delete(workspace::revoke))
        .route("/api/documents/{id}", get(workspace::document))
        .route("/api/documents/{id}/entries", get(workspace::entries))
        .route("/api/documents/{id}/versions", get(workspace::versions))
        .route("/api/search", get(workspace::search))
        .route("/api/actors", get(workspace::actors).post(workspace::create_actor))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(house)
}

#[cfg(test)]
mod tests;
