//! The MCP client: each MCP server is a toolbox with one connection, opened when it is first needed and again after it broke.
//! Whether a call is allowed or may be repeated is decided elsewhere.

mod call;
mod child;
mod config;
mod connection;
mod elicitation;
mod http;
pub mod messages;
mod result;

pub use config::{ConfigError, ServerConfig, Transport, variables};

use async_trait::async_trait;
use call::{RunningCall, WaitingCall};
use connection::Connection;
use effects::tools::{Approval, Offer, Offers, Toolbox};
use engine::effect::{Class, EffectId, Outcome, ToolCall};
use engine::ids::ProjectId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex as AsyncMutex;

/// Between the name of a server and that of its tool.
pub const BETWEEN: &str = "__";
/// How long a list of tools is used without asking again.
const LIST_VALID_FOR: Duration = Duration::from_secs(30);
/// A server that could not be reached is not tried again within this.
const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(5);
/// Calls that wait for a person's answer with their connection open.
const MOST_WAITING: usize = 200;

/// One MCP server.
pub struct McpServer {
    config: ServerConfig,
    connection: AsyncMutex<ConnectionState>,
    held: Mutex<HashMap<EffectId, WaitingCall>>,
}

/// The connection with what it last told; `failure` keeps a server that does not answer from being tried by every call.
#[derive(Default)]
struct ConnectionState {
    connection: Option<Arc<Connection>>,
    offers: Option<(Instant, Offers)>,
    failure: Option<(Instant, String)>,
}

impl McpServer {
    pub fn new(config: ServerConfig) -> McpServer {
        McpServer { config, connection: AsyncMutex::default(), held: Mutex::default() }
    }

    async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut known = self.connection.lock().await;
        self.open(&mut known).await
    }

    async fn open(&self, known: &mut ConnectionState) -> Result<Arc<Connection>, String> {
        if let Some(connection) = known.connection.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        if let Some((_, why)) = known.failure.as_ref().filter(|(when, _)| when.elapsed() < RETRY_AFTER_FAILURE) {
            return Err(why.clone());
        }
        // The old process ends before a new one starts: both may want the same port or file.
        if let Some(old) = known.connection.take() {
            old.close().await;
        }
        known.offers = None;
        match Connection::open(&self.config).await {
            Ok(connection) => {
                known.failure = None;
                Ok(known.connection.insert(Arc::new(connection)).clone())
            }
            Err(why) => {
                known.failure = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<EffectId, WaitingCall>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Toolbox for McpServer {
    fn server(&self) -> &str {
        &self.config.name
    }

    fn projects(&self) -> &[ProjectId] {
        &self.config.projects
    }

    /// A tool that the configuration calls read-only needs no approval.
    fn approval(&self, offer: &Offer) -> Approval {
        if offer.class == Class::ReadOnly { Approval::Never } else { self.config.approval }
    }

    fn destination(&self, _call: &ToolCall) -> String {
        let name = &self.config.name;
        match &self.config.transport {
            Transport::Stdio { command, .. } => {
                format!("the tool server {name}, the program {command} on this machine, which may send it anywhere")
            }
            Transport::Http { url, .. } => {
                let url = reqwest::Url::parse(url).ok();
                let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or("an unknown host").to_owned();
                format!("the tool server {name} at {host}")
            }
        }
    }

    async fn offers(&self) -> Result<Offers, String> {
        let mut known = self.connection.lock().await;
        let connection = self.open(&mut known).await?;
        let fresh = |(when, _): &&(Instant, Offers)| when.elapsed() < LIST_VALID_FOR && !connection.has_changed();
        if let Some((_, offers)) = known.offers.as_ref().filter(fresh) {
            return Ok(offers.clone());
        }
        let offers = connection.offers(&self.config).await?;
        known.offers = Some((Instant::now(), offers.clone()));
        Ok(offers)
    }

    async fn call(&self, offer: &Offer, call: &ToolCall, effect: &EffectId) -> Outcome {
        let connection = match self.connection().await {
            Ok(connection) => connection,
            Err(why) => return Outcome::Unavailable(format!("{} cannot be reached: {why}", self.config.name)),
        };
        let tool = offer.name.strip_prefix(&self.config.prefix()).unwrap_or(&offer.name);
        let held = call.answered.as_ref().and_then(|_| self.held().remove(effect));
        let running = match (held, &call.answered) {
            (Some(held), Some(told)) => held.go_on(told),
            (None, Some(told)) => RunningCall::resumed(&self.config, &connection, tool, call, effect, told),
            (_, None) => Ok(RunningCall::begin(&self.config, &connection, tool, call, effect)),
        };
        let (outcome, held) = match running {
            Ok(running) => running.outcome().await,
            Err(paused) => *paused,
        };
        if let Some(held) = held {
            let mut all = self.held();
            all.retain(|_, held| !held.is_stale());
            if all.len() < MOST_WAITING {
                all.insert(effect.clone(), held);
            }
        }
        outcome
    }

    async fn close(&self) {
        self.held().clear();
        let connection = self.connection.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}
