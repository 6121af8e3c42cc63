//! The HTTP API of the process that holds the database. Handlers translate; what a run may do is decided
//! by the engine, what an actor may see by the store.

mod brief;
mod caller;
mod commands;
pub mod door;
mod events;
mod openapi;
pub mod problems;
mod process;
mod records;
mod route;
mod runs;
mod shape;
mod workspace;

pub use brief::NewRun;
pub use commands::{Continuation, GivenAnswer, Message, Resolution, Response};
pub use workspace::Workspace;

use crate::catalogue::Catalogue;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use door::Door;
use problems::Problem;
use route::Route;
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

/// Every route there is. A new one is a line in its module's `routes()`.
fn table() -> Vec<Route> {
    [process::routes(), runs::routes(), commands::routes(), events::routes(), workspace::routes()].concat()
}

pub fn router(house: Arc<House>, door: Door) -> Router {
    route::serve(table(), &house, door)
        .fallback(process::nowhere)
        .method_not_allowed_fallback(process::no_such_method)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(house)
}

#[cfg(test)]
mod tests;
