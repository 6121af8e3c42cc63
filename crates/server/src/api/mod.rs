//! The HTTP API of the process that holds the database. Handlers translate; what a run may do is decided
//! by the engine, what an actor may see by the store.

mod access;
mod actors;
mod agents;
mod asked;
mod brief;
mod caller;
mod commands;
mod documents;
pub mod door;
mod events;
mod example;
pub mod front;
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
mod once;
mod openapi;
mod pace;
mod pages;
pub mod problems;
mod process;
mod projects;
mod pulse;
mod realtime;
mod records;
pub mod reliance;
mod route;
mod runs;
mod secret;
mod shape;
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
pub use commands::{Continuation, GivenAnswer, Message, Resolution, Response};
pub use lessons::{LessonAction, Settlement};
pub use login::{CodeView, NewCode};
pub use metrics::Counters;
pub use nodes::NodeView;
pub use snapshot::Views;
pub use tokens::{NewToken, TokenMade, TokenView};
pub use tools::{Tools, described};
pub use webhooks::{NewWebhook, WebhookView, WithDeliveries};
pub use workspace::Workspace;

use crate::catalogue::Catalogue;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use door::Door;
use effects::notify::{Courier, Private};
use front::Front;
use problems::Problem;
use reliance::{Alarm, Reliance, Sight};
use route::Route;
use runtime::keys::Keys;
use runtime::live::Live;
use runtime::members::Members;
use runtime::ports::{Clock, Store};
use runtime::post::Post;
use runtime::removal::Removal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const MAX_BODY: usize = 1 << 20;

/// What every handler may use.
pub struct House {
    pub store: Arc<dyn Store>,
    pub keys: Arc<dyn Keys>,
    pub members: Arc<dyn Members>,
    pub removal: Arc<dyn Removal>,
    /// Absent where the database is only read.
    pub desk: Option<runtime::Desk>,
    pub catalogue: Arc<Catalogue>,
    pub clock: Arc<dyn Clock>,
    pub drives: Drives,
    pub front: Front,
    /// What is committed, here or elsewhere.
    pub live: Live,
    pub views: Views,
    /// Who relies on seeing which run.
    pub sights: Arc<Reliance<Sight>>,
    /// Rung when that, or a credential, ended.
    pub alarm: Alarm,
    pub counters: Counters,
    pub post: Arc<dyn Post>,
    /// Absent where the database is only read.
    pub courier: Option<Courier>,
    /// Whether webhooks may lead inside the network.
    pub private: Private,
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

type Answer<T> = Result<T, Problem>;

impl House {
    /// The desk, or a refusal where this process only reads.
    fn desk(&self) -> Answer<&runtime::Desk> {
        self.desk.as_ref().ok_or_else(read_only)
    }

    fn courier(&self) -> Answer<&Courier> {
        self.courier.as_ref().ok_or_else(read_only)
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

pub fn router(house: Arc<House>, door: Door) -> Router {
    let routes = route::serve(table(), &house, door)
        .fallback(process::nowhere)
        .method_not_allowed_fallback(process::no_such_method)
        .layer(from_fn_with_state(house.clone(), metrics::count))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn(pages::for_browsers));
    match door {
        Door::Private => routes.with_state(house),
        Door::Open => routes.layer(from_fn_with_state(house.clone(), front::receive)).with_state(house),
    }
}

#[cfg(test)]
mod tests;
