//! The HTTP API of the process that holds the database. Handlers translate; what a run may do is decided
//! by the engine, what an actor may see by the store.

// First: the modules below use its macros.
#[macro_use]
mod schema;

mod access;
mod actors;
mod agents;
pub mod auth;
mod brief;
mod caller;
mod commands;
mod documents;
mod events;
mod example;
mod heartbeat;
mod idempotency;
mod inbox;
mod invitations;
mod lessons;
mod login;
mod mcp;
mod members;
mod metrics;
mod multiplex;
mod nodes;
mod notifications;
mod openapi;
pub mod origin;
mod pages;
pub mod problems;
mod process;
mod projects;
mod query;
mod rate_limit;
mod realtime;
mod records;
pub mod revocation;
mod route;
mod runs;
mod secret;
mod snapshot;
mod stream;
mod tail;
mod tasks;
mod tokens;
mod tools;
mod version;
mod webhooks;
mod workspace;

pub use agents::{AgentView, NewAgent};
pub use brief::NewRun;
pub use commands::{Continuation, Message, QuestionAnswer, Resolution, Response};
pub use lessons::{LessonAction, LessonDecision};
pub use login::{CodeView, NewCode};
pub use metrics::Counters;
pub use nodes::NodeView;
pub use snapshot::Views;
pub use tokens::{CreatedToken, NewToken, TokenView};
pub use tools::{Tools, described};
pub use webhooks::{NewWebhook, WebhookView, WebhookWithDeliveries};
pub use workspace::Workspace;

use crate::catalogue::Catalogue;
use auth::RequestSource;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use http_client::PrivateAddresses;
use origin::OriginPolicy;
use outbound::webhooks::WebhookSender;
use problems::Problem;
use revocation::{RevocationSignal, Revocations, RunSight};
use route::Route;
use runtime::live::Live;
use runtime::ports::Clock;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::SqlStore;

const MAX_BODY: usize = 1 << 20;

/// What every handler may use.
pub struct AppState {
    pub store: Arc<SqlStore>,
    /// Absent where the database is only read.
    pub commands: Option<runtime::RunCommands>,
    pub catalogue: Arc<Catalogue>,
    pub clock: Arc<dyn Clock>,
    pub drives: Drives,
    pub origin: OriginPolicy,
    /// What is committed, here or elsewhere.
    pub live: Live,
    pub views: Views,
    /// Who relies on seeing which run.
    pub sights: Arc<Revocations<RunSight>>,
    /// Rung when that, or a credential, ended.
    pub revoked: RevocationSignal,
    pub counters: Counters,
    /// Absent where the database is only read.
    pub webhook_sender: Option<WebhookSender>,
    /// Whether webhooks may lead inside the network.
    pub private: PrivateAddresses,
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
    /// Where people reach it over the network.
    #[serde(default)]
    pub url: Option<String>,
}

/// A part of a list, and where the next part starts.
#[derive(Debug, Serialize, Deserialize)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// One more than `limit` was asked for: whether it came says whether there is a next part.
    fn cut(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> Page<T> {
        let more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = items.last().filter(|_| more).map(cursor);
        Page { items, next_cursor }
    }
}

type ApiResult<T> = Result<T, Problem>;

impl AppState {
    /// The commands, or a refusal where this process only reads.
    fn commands(&self) -> ApiResult<&runtime::RunCommands> {
        self.commands.as_ref().ok_or_else(read_only)
    }

    fn webhook_sender(&self) -> ApiResult<&WebhookSender> {
        self.webhook_sender.as_ref().ok_or_else(read_only)
    }
}

fn read_only() -> Problem {
    Problem::new(axum::http::StatusCode::CONFLICT, "read_only", "this process only reads the database")
}

/// Every route there is. A new one is a line in its module's `routes()`.
fn table() -> Vec<Route> {
    [
        process::routes(),
        login::routes(),
        runs::routes(),
        commands::routes(),
        nodes::routes(),
        inbox::routes(),
        events::routes(),
        snapshot::routes(),
        stream::routes(),
        notifications::routes(),
        webhooks::routes(),
        metrics::routes(),
        realtime::routes(),
        workspace::routes(),
        projects::routes(),
        members::routes(),
        invitations::routes(),
        documents::routes(),
        tasks::routes(),
        actors::routes(),
        agents::routes(),
        lessons::routes(),
        pages::routes(),
        tokens::routes(),
        tools::routes(),
        mcp::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub fn router(app: Arc<AppState>, source: RequestSource) -> Router {
    let routes = route::serve(table(), &app, source)
        .fallback(process::nowhere)
        .method_not_allowed_fallback(process::no_such_method)
        .layer(from_fn_with_state(app.clone(), metrics::count))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn(pages::for_browsers));
    match source {
        RequestSource::Private => routes.with_state(app),
        RequestSource::Open => routes.layer(from_fn_with_state(app.clone(), origin::receive)).with_state(app),
    }
}

#[cfg(test)]
mod tests;
