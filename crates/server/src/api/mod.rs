//! The HTTP API of the process that holds the database. Handlers translate between HTTP and the engine: what a run may do is
//! decided by the engine, what an actor may see by the store.

// First, because the modules below use its macros.
#[macro_use]
mod schema;

mod access;
mod actors;
mod agents;
pub(crate) mod auth;
mod brief;
mod caller;
mod commands;
mod criteria;
mod documents;
mod events;
mod example;
mod fanout;
mod heartbeat;
mod homework_parts;
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
pub(crate) mod origin;
mod pages;
mod prelude;
pub(crate) mod problems;
mod process;
mod projects;
mod query;
mod rate_limit;
mod realtime;
mod records;
pub(crate) mod revocation;
mod route;
mod run_stream;
mod running;
mod runs;
mod secret;
mod snapshot;
mod stream;
mod tail;
mod tasks;
mod tokens;
mod tools;
mod tree_parts;
mod version;
mod webhooks;
mod workspace;

pub(crate) use agents::{AgentView, NewAgent};
pub(crate) use brief::NewRun;
pub(crate) use commands::{Answers, Continuation, Message, QuestionAnswer, Resolution, resume_node_commands};
pub(crate) use criteria::{ALL as ALL_CRITERIA, CriterionWord};
pub(crate) use lessons::{LessonAction, LessonDecision};
pub(crate) use login::{CodeView, NewCode};
pub(crate) use metrics::Counters;
pub(crate) use nodes::{NodeView, Retry};
pub(crate) use snapshot::Views;
pub(crate) use tokens::{CreatedToken, NewToken, TokenView};
pub(crate) use tools::{Tools, described};
pub(crate) use webhooks::{NewWebhook, WebhookView, WebhookWithDeliveries};
pub(crate) use workspace::Workspace;

use crate::catalogue::Catalogue;
use auth::RequestSource;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Json, Router};
use fanout::Fanouts;
use http_client::PrivateAddresses;
use origin::OriginPolicy;
use outbound::webhooks::WebhookSender;
use problems::Problem;
use revocation::{CredentialCheck, RevocationSignal, Revocations, RunSight, RunSightCheck};
use route::Route;
use runtime::live::Live;
use runtime::ports::Clock;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::SqlStore;

const MAX_BODY_BYTES: usize = 1 << 20;

/// What every handler has access to.
pub(crate) struct AppState {
    pub store: Arc<SqlStore>,
    /// Absent where the database is only read.
    pub commands: Option<runtime::RunCommands>,
    pub catalogue: Arc<Catalogue>,
    pub clock: Arc<dyn Clock>,
    pub drives: Drives,
    pub origin: OriginPolicy,
    /// Commits of this process and, where others write too, of theirs.
    pub live: Live,
    pub fanouts: Fanouts,
    pub views: Views,
    /// Streams, by the run they depend on.
    pub sights: Arc<Revocations<RunSight>>,
    /// Raised when a credential or the sight of a run ended.
    pub revoked: RevocationSignal,
    pub counters: Counters,
    /// Absent where the database is only read.
    pub webhook_sender: Option<WebhookSender>,
    /// Whether webhooks may point to private addresses.
    pub private: PrivateAddresses,
}

/// Which runs this process drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Drives {
    Nothing,
    /// Only those it was asked to drive.
    Some,
    /// Every run of the database.
    All,
}

/// The process that holds the database and answers requests.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HolderView {
    pub pid: u32,
    pub version: String,
    pub drives: Drives,
    /// Its address on the network.
    pub url: Option<String>,
}

/// A page of a list, and the cursor of the next page.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Page<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// One item more than `limit` was read: if it is there, a next page exists.
    fn cut(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> Page<T> {
        let more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = items.last().filter(|_| more).map(cursor);
        Page { items, next_cursor }
    }

    /// Exactly `limit` were asked for: a full page may be followed by an empty one.
    fn full(items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> Page<T> {
        let next_cursor = items.last().filter(|_| items.len() == limit).map(cursor);
        Page { items, next_cursor }
    }
}

type ApiResult<T> = Result<T, Problem>;
type JsonResult<T> = ApiResult<Json<T>>;
type PageResult<T> = JsonResult<Page<T>>;

impl AppState {
    /// The state of a process that only reads the database; one that drives runs sets the rest.
    pub(crate) fn reading(
        store: Arc<SqlStore>,
        catalogue: Arc<Catalogue>,
        clock: Arc<dyn Clock>,
        live: Live,
    ) -> AppState {
        let revoked = RevocationSignal::default();
        let credentials = CredentialCheck { store: store.clone(), clock: clock.clone() };
        AppState {
            commands: None,
            catalogue,
            drives: Drives::Nothing,
            origin: OriginPolicy::new(None, Revocations::new(credentials, &revoked)),
            clock,
            live,
            fanouts: Fanouts::default(),
            views: Views::default(),
            sights: Revocations::new(RunSightCheck(store.clone()), &revoked),
            revoked,
            counters: Counters::default(),
            webhook_sender: None,
            private: PrivateAddresses::Refused,
            store,
        }
    }

    /// The run commands, or a problem where this process only reads.
    fn commands(&self) -> ApiResult<&runtime::RunCommands> {
        self.commands.as_ref().ok_or_else(read_only)
    }

    /// A time-ordered id that nobody can guess.
    fn mint<T: From<uuid::Uuid>>(&self) -> T {
        engine::ids::derive(self.clock.now(), &[&rand::random::<[u8; 16]>()]).into()
    }

    fn webhook_sender(&self) -> ApiResult<&WebhookSender> {
        self.webhook_sender.as_ref().ok_or_else(read_only)
    }
}

fn read_only() -> Problem {
    Problem::new(
        axum::http::StatusCode::CONFLICT,
        "read_only",
        "this process only reads the database; nothing was changed. Repeat the request to the server that drives runs",
    )
}

/// Every route of the API. A new one is a line in its module's `routes()`.
fn table() -> Vec<Route> {
    [
        process::routes(),
        login::routes(),
        runs::routes(),
        commands::routes(),
        criteria::routes(),
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

pub(crate) fn router(app: Arc<AppState>, source: RequestSource) -> Router {
    let routes = route::serve(table(), &app, source)
        .fallback(process::not_found)
        .method_not_allowed_fallback(process::method_not_allowed)
        .layer(from_fn_with_state(app.clone(), metrics::count))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn(pages::for_browsers));
    match source {
        RequestSource::Private => routes.with_state(app),
        RequestSource::Open => routes.layer(from_fn_with_state(app.clone(), origin::receive)).with_state(app),
    }
}

#[cfg(test)]
mod tests;
